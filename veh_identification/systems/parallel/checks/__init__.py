"""Do recording and model fit each other? Units, signs, orders, drawing, lags; the fit itself."""
