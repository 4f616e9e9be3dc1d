import type { Instant } from '../../clock.ts';
import { laneIndex } from '../../domain/schedule/lanes.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import type { RecordKind } from '../../domain/schedule/record-kinds.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import { type Bound, type RawBuilder, sql, type Writes } from '../../sqlite/statements.ts';
import { CurrencyTable } from '../catalogue/editions.ts';
import { query } from '../sql/sql.ts';
import { isRecord, templateRows } from './record-rows.ts';

/** Makes and drops records, as products, resources and windows come and go. */
export interface RecordMaking {
  /** Makes what is missing for these products; what exists stays as it is. */
  create(templates: readonly RecordKind[], product_ids: readonly number[]): void;
  /** Makes records of what was read at `fetched_at` as part of something else, for products that have none. */
  createRead(templates: readonly RecordKind[], product_ids: readonly number[], read: CreatedRead): void;
  /** Drops a record that nobody waits for. */
  drop(key: RecordKey): void;
  createWalk(template: RecordKind): void;
  /** Returns for which kinds all products have their records, as it was noted; null: that has to be seen to. */
  madeFor(): string | null;
  noteMadeFor(kinds: string | null): void;
  /** Drops the records of kinds that the configuration no longer asks for. */
  dropOthers(templates: readonly RecordKind[]): void;
  /** Drops every record of a resource, out of its jobs too: the service does not have it. */
  dropResource(resource: Resource): void;
  /** Drops the records of a product that nothing is shown of. */
  dropProduct(product_id: number): void;
  /** Drops a product's windows that lie beyond `last_part`. */
  dropBeyond(product_id: number, last_part: number): void;
}

/** Instant of the read, the instant at which it is due unless something asks for it earlier, and when it is stale. */
export interface CreatedRead {
  readonly fetched_at: Instant;
  readonly due_at: Instant;
  readonly stale_at: Instant;
}

/** `madeDue` is called where something may be due that was not. */
export function recordMaking(db: Writes, madeDue: () => void): RecordMaking {
  const create = creating(db);
  const noted = madeForNote(db);
  const dropping = recordDropping(db);
  const created = creatingRead(db);
  const currencies = new CurrencyTable(db);
  const dropOne = db.change((bound: Bound<RecordKey>) => query.deleteFrom('_record').where(isRecord(bound)));
  return {
    ...noted,
    create: (templates, product_ids) => {
      madeDue();
      create.some.run({ templates: JSON.stringify(templates), ids: JSON.stringify(product_ids) });
    },
    createRead: (templates, product_ids, read) => {
      created.run({ templates: JSON.stringify(templates), ids: JSON.stringify(product_ids), ...read });
    },
    drop: (key) => {
      dropOne.run(key);
    },
    createWalk: (template) => {
      madeDue();
      create.one.run({ templates: JSON.stringify([template]) });
      currencies.followWalks();
    },
    ...dropping,
    dropOthers: (templates) => {
      dropping.dropOthers(templates);
      currencies.followWalks();
    },
    dropResource: (resource) => {
      dropping.dropResource(resource);
      noted.noteMadeFor(null);
    },
  };
}

function madeForNote(db: Writes): Pick<RecordMaking, 'madeFor' | 'noteMadeFor'> {
  const noted = db.values(() => query.selectFrom('_budget').select('made_for'));
  const note = db.change(({ kinds }: Bound<{ kinds: string | null }>) =>
    query.updateTable('_budget').set({ made_for: kinds }),
  );
  return {
    madeFor: () => noted.get() ?? null,
    noteMadeFor: (kinds) => {
      note.run({ kinds });
    },
  };
}

function creating(db: Writes) {
  /** Of each template and each of the products, in this order. */
  const insert = (templates: RawBuilder<string>, products: RawBuilder<{ product_id: number }>) =>
    query
      .insertInto('_record')
      .orIgnore()
      .columns(['resource', 'product_id', 'edition', 'part', 'due_at', 'due_reason', 'lane'])
      .expression(
        query
          .selectFrom(templateRows(templates))
          .crossJoin(products.as<'p'>('p'))
          .select(['t.resource', 'p.product_id', 't.edition', 't.part', 't.due_at'])
          .select(({ val }) => [
            val<'never-fetched'>('never-fetched').as('due_reason'),
            val(laneIndex('fill')).as('lane'),
          ]),
      );
  return {
    some: db.change(({ templates, ids }: Bound<{ templates: string; ids: string }>) =>
      insert(templates, sql`(select value as product_id from json_each(${ids}))`),
    ),
    one: db.change(({ templates }: Bound<{ templates: string }>) => insert(templates, sql`(select 0 as product_id)`)),
  };
}

function creatingRead(db: Writes) {
  type Created = { templates: string; ids: string } & CreatedRead;
  return db.change(({ templates, ids, fetched_at, due_at, stale_at }: Bound<Created>) =>
    query
      .insertInto('_record')
      .orIgnore()
      .columns(['resource', 'product_id', 'edition', 'part', 'due_at', 'due_reason', 'lane', 'fetched_at', 'stale_at'])
      .expression(
        query
          .selectFrom(templateRows(templates))
          .crossJoin(sql<{ product_id: number }>`(select value as product_id from json_each(${ids}))`.as<'p'>('p'))
          .select(['t.resource', 'p.product_id', 't.edition', 't.part', due_at.as('due_at')])
          .select(({ val }) => [
            val<'cadence-elapsed'>('cadence-elapsed').as('due_reason'),
            val(laneIndex('weekly')).as('lane'),
            fetched_at.as('fetched_at'),
            stale_at.as('stale_at'),
          ]),
      ),
  );
}

function recordDropping(db: Writes): Pick<RecordMaking, 'dropOthers' | 'dropResource' | 'dropProduct' | 'dropBeyond'> {
  const others = db.change(({ templates }: Bound<{ templates: string }>) =>
    query
      .deleteFrom('_record')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('resource', 'edition', 'part'),
          'not in',
          selectFrom(templateRows(templates))
            .select(['t.resource', 't.edition', 't.part'])
            .$asTuple('resource', 'edition', 'part'),
        ),
      ),
  );
  const outOfJobs = db.change(({ resource }: Bound<{ resource: Resource }>) =>
    query
      .updateTable('_job')
      .set(({ eb, selectFrom }) => ({
        records: eb(
          'records',
          '-',
          selectFrom('_record as r')
            .select(({ fn }) => fn.countAll<number>().as('records'))
            .whereRef('r.job_id', '=', '_job.job_id')
            .where('r.resource', '=', resource)
            .$asScalar()
            .$notNull(),
        ),
      }))
      .where('finished_at', 'is', null),
  );
  const ofResource = db.change(({ resource }: Bound<{ resource: Resource }>) =>
    query.deleteFrom('_record').where('resource', '=', resource),
  );
  const ofProduct = db.change(({ product_id }: Bound<{ product_id: number }>) =>
    query.deleteFrom('_record').where('product_id', '=', product_id),
  );
  const beyond = db.change(({ product_id, last_part }: Bound<{ product_id: number; last_part: number }>) =>
    query
      .deleteFrom('_record')
      .where('resource', '=', 'availability')
      .where('product_id', '=', product_id)
      .where('part', '>', last_part),
  );
  return {
    dropOthers: (templates) => {
      others.run({ templates: JSON.stringify(templates) });
    },
    dropResource: (resource) => {
      outOfJobs.run({ resource });
      ofResource.run({ resource });
    },
    dropProduct: (product_id) => {
      ofProduct.run({ product_id });
    },
    dropBeyond: (product_id, last_part) => {
      beyond.run({ product_id, last_part });
    },
  };
}
