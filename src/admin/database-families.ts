import { gauge, type MeasuredFamily, one, seconds, some } from './measured.ts';

/** The metrics about publishing into a database and its leader; without samples if no database is configured. */
export const databaseFamilies: readonly MeasuredFamily[] = [
  gauge('catalogued_published_state', 'The last state that was published into the database.', ({ status }) =>
    one(status.database?.state ?? null),
  ),
  gauge(
    'catalogued_published_lag_seconds',
    'How old what is published is; 0 if nothing has changed since.',
    ({ status }) => one(seconds(status.database?.lag_ms ?? null)),
  ),
  gauge('catalogued_leader', 'Is 1 for the instance that leads.', ({ status: { database } }) =>
    some({ instance: database?.leads?.name ?? '' }, database?.leads == null ? null : 1),
  ),
  gauge('catalogued_term', 'Term of the instance that leads.', ({ status }) =>
    one(status.database?.leads?.term ?? null),
  ),
  gauge('catalogued_standbys', 'Instances that stand by.', ({ status }) => one(status.database?.standbys ?? null)),
  gauge(
    'catalogued_database_oldest_transaction_seconds',
    'How long a transaction has been keeping rows of the database from being removed.',
    ({ status }) => one(seconds(status.database?.vacuum_held_ms ?? null)),
  ),
];
