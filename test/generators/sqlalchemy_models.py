# Prints, by view and column, the type that SQLAlchemy reads through schema/models/sqlalchemy.py.
import json
import os
import sys

sys.path.insert(0, os.getcwd())
import mirror_models
from sqlalchemy import create_engine, func, select
from sqlalchemy.orm import Session

names = {"Integer": "integer", "Float": "real", "Text": "text"}
kinds = {"integer": int, "real": (int, float), "text": str}
engine = create_engine("sqlite:///file:mirror.db?mode=ro&uri=true")
found = {}
with Session(engine) as session:
    for mapper in mirror_models.Base.registry.mappers:
        model, table = mapper.class_, mapper.local_table
        columns = {column.name: names[type(column.type).__name__] for column in table.columns}
        rows = session.execute(select(model)).scalars().all()
        # As many objects as rows: the key tells them apart.
        assert len({id(row) for row in rows}) == session.scalar(select(func.count()).select_from(table)) > 0, table.name
        for row in rows:
            for column, kind in list(columns.items()):
                value = getattr(row, column)
                if value is not None and not isinstance(value, kinds[kind]):
                    columns[column] = type(value).__name__
        found[table.name] = columns
print(json.dumps(found))
