"""`leadline serve`: an HTTP service over `leadline.Client`. It uses only the public API of `leadline`.

`app` puts it together, `board` owns the runs, `access` decides who may do what, `store` is what survives a crash.
"""
