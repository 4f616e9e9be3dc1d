import { allColumns } from './views.ts';
import './node-version.ts';
import { systemClock } from '../kernel/clock.ts';
import { members } from './arguments.ts';
import { Connection } from './connection.ts';
import { daemonCalls } from './daemon.ts';
import { type Editions, editionsOf } from './editions.ts';
import { exactSearcher } from './exact.ts';
import { feedOf } from './feed.ts';
import { badArgument, noMirror } from './problems.ts';
import type { CurrencyRow, FreshnessRow, MirrorInfoRow, PolicyRow, Reader, ReaderOptions } from './reader-types.ts';
import { availabilityReads, catalogueReads } from './reads.ts';
import { lister } from './search/list.ts';
import { relatedTo } from './search/related.ts';
import { searcher } from './search/search.ts';
import { whereReads } from './where.ts';

export { CataloguedError } from '../kernel/errors.ts';
export type { Day, OfDay, Span, UnknownDay } from './calendar.ts';
// The package's own names, which inside the program would be taken for what it has by these names itself.
export type {
  Asking,
  DaemonAddress,
  DaemonCheckAnswer as CheckAnswer,
  DaemonCheckedDate as CheckedDate,
  DaemonCheckQuestion as CheckQuestion,
  DaemonCheckReason as CheckReason,
  DaemonOrderNoted as OrderNoted,
  DaemonOrderReport as OrderReport,
  DaemonSeen as Seen,
  Money,
} from './daemon-types.ts';
export type { Edition } from './editions.ts';
export type { Engine } from './engine.ts';
export type { ExactHit, ExactQuestion } from './exact.ts';
export type { ChangesPage, FeedOptions } from './feed.ts';
export type { Near } from './near-place.ts';
export { CursorFromTheFuture, CursorTooOld, FeedChanged } from './problems.ts';
export type {
  ChangeRow as Change,
  CheckoutInformationRow as CheckoutInformation,
  CitiesQuestion,
  CityRow as City,
  CountryRow as Country,
  CurrencyRow as Currency,
  ExperienceImageRow as ExperienceImage,
  ExperienceRow as Experience,
  ExperiencesQuestion,
  FreshnessRow as Freshness,
  ImageRow as Image,
  MirrorInfoRow as MirrorInfo,
  PolicyRow as Policy,
  ProductPriceRow as ProductPrice,
  ProductRow as Product,
  Reader,
  ReaderOptions,
  SlotRow as Slot,
  TagRow as Tag,
  TagsQuestion,
  VariantRow as Variant,
  WithdrawnRow as Withdrawn,
} from './reader-types.ts';
export type { Facets, FacetValue } from './search/facets.ts';
export type { Piece } from './search/highlight.ts';
export type { ProductsQuestion } from './search/list.ts';
export type { Filters, Order, SearchQuestion } from './search/question.ts';
export type { RelatedOptions } from './search/related.ts';
export type { Found, SearchHit } from './search/search.ts';

/**
 * Opens a mirror that a daemon of the same host keeps, or a snapshot of one; no daemon needs to run. Language and
 * currency are those of the reads that name none; absent: the mirror's primary ones. Throws `no-mirror`, `foreign-file`,
 * `damaged`, `unreadable`, `bad-argument`.
 */
export function openReader(path: string, options: ReaderOptions = {}): Reader {
  if (typeof path !== 'string' || path === '')
    throw badArgument('path: found none', 'give the path of the mirror, or of a snapshot of one');
  const known = ['language', 'currency', 'now', 'daemon', 'engine'] as const;
  const { language, currency, daemon, engine, now = systemClock.now } = members('options', options, known);
  if (engine !== undefined && typeof engine !== 'function')
    throw badArgument(
      'engine: found no class',
      "give the default export of better-sqlite3, or nothing for Node's own SQLite",
    );
  const connection = new Connection(path, now, engine);
  try {
    const editions = editionsOf(connection, { language, currency });
    editions.language(undefined);
    editions.currency(undefined);
    return readerOver(connection, editions, { daemon, currency });
  } catch (error) {
    connection.close();
    throw error;
  }
}

function readerOver(connection: Connection, editions: Editions, { daemon, currency }: ReaderOptions): Reader {
  const info = connection.query<[], MirrorInfoRow>(`SELECT ${allColumns('mirror_info', 'm')} FROM mirror_info m`);
  const freshness = connection.query<[], FreshnessRow>(`SELECT ${allColumns('freshness', 'f')} FROM freshness f`);
  const currencies = connection.query<[], CurrencyRow>(
    `SELECT ${allColumns('currencies', 'c')} FROM currencies c ORDER BY c.is_primary DESC, c.currency`,
  );
  const policies = connection.query<[], PolicyRow>(`SELECT ${allColumns('policies', 'p')} FROM policies p`);
  const feed = feedOf(connection);
  const { calls, close: closeDaemon } = daemonCalls(daemon, currency);
  const close = () => {
    closeDaemon();
    connection.close();
  };
  return {
    ...catalogueReads(connection, editions),
    ...availabilityReads(connection, editions),
    ...whereReads(connection, editions),
    ...calls,
    search: searcher(connection, editions),
    exact: exactSearcher(connection, editions),
    products: lister(connection, editions),
    related: relatedTo(connection, editions),
    info: () => {
      const row = info.get([]);
      if (row === undefined) throw noMirror(connection.path);
      return row;
    },
    newest: feed.newest,
    changes: (after, options = {}) => feed.changes(after, members('options', options, ['limit', 'feed'])),
    freshness: () => freshness.all([]),
    currencies: () => currencies.all([]),
    policies: () => policies.all([]),
    transaction: (work) => connection.transaction(work),
    close,
    [Symbol.dispose]: close,
  };
}
