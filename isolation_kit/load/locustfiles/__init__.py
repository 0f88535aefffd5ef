"""What Locust is given with `-f`."""
