"""The zenoh engine: live nodes without ROS that speak rmw_zenoh's wire conventions."""
