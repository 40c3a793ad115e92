"""What is in the database."""

from django.db import models


class Order(models.Model):
    item = models.CharField(max_length=100)
    receipt = models.CharField(max_length=200, default="")
