"""Makes the outbox, for backends whose option `outbox` names the database; it stays empty otherwise."""

from django.db import migrations

from rota.sdk.django.outbox import TABLE
from rota.sdk.outbox.outbox import table_statement


class Migration(migrations.Migration):  # type: ignore[misc]  # Django has no types
    initial = True
    operations = (migrations.RunSQL(table_statement(TABLE), f"DROP TABLE {TABLE}"),)
