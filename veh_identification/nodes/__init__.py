"""The ROS 2 nodes: plain classes that are handed their node object (see runtime.interface)."""
