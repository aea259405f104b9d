"""`leadline serve`: an HTTP service over `leadline.Client`. It uses only the public API of `leadline`.

`app` puts it together, `queue` keeps the orders, `worker` works on them, `supervisor` watches the workers, `access`
decides who may do what, `store` keeps tokens.
"""
