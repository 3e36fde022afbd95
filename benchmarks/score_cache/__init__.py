"""Pods a second in process: the score cache beside the stock scheduler."""
