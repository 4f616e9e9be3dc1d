# Prints, by view and column, the type that Django reads through schema/models/django.py.
import json
import os
import sys

sys.path.insert(0, os.getcwd())
import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=["mirror_app"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": "file:mirror.db?mode=ro",
            "OPTIONS": {"uri": True},
        }
    },
)
django.setup()
from django.apps import apps
from django.core.management import call_command

names = {"BigIntegerField": "integer", "FloatField": "real", "TextField": "text"}
kinds = {"integer": int, "real": (int, float), "text": str}
call_command("check", stdout=sys.stderr)
found = {}
for model in apps.get_app_config("mirror_app").get_models():
    fields = [field for field in model._meta.concrete_fields if field.column is not None]
    columns = {field.column: names[type(field).__name__] for field in fields}
    rows = list(model.objects.all())
    assert len({row.pk for row in rows}) == model.objects.count() > 0, model._meta.db_table
    for row in rows:
        for column, kind in list(columns.items()):
            value = getattr(row, column)
            if value is not None and not isinstance(value, kinds[kind]):
                columns[column] = type(value).__name__
    found[model._meta.db_table] = columns
print(json.dumps(found))
