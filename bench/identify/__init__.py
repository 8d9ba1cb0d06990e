"""Regressors and estimators beside Pinocchio and numpy; `veh-id bench identify`."""
