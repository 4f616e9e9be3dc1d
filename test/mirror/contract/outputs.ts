import { reload } from '../../../src/admin/api/reload.ts';
import { jobAnswer } from '../../../src/admin/api/schedule.ts';
import { jobRuns } from '../../../src/daemon/job-runs.rules.ts';
import { checkReasons } from '../../../src/desk/verdict.rules.ts';
import { contract } from '../../../src/mirror/contract/contract.ts';

/* What commands print and what the reader returns: with the tables this is schema/contract.json. */

/** The fields that `--json` prints, by command. */
export const outputs: Readonly<Record<string, readonly string[]>> = {
  status: [
    'as_of', 'path', 'file_bytes', 'wal_bytes', 'contract_version', 'schema_version', 'written_by', 'filled_at', 'products', 'bookable', 'last_hour', 'images',
    'oldest_image_at', 'images_unconfirmed', 'unconfirmed_images', 'unusable', 'unreadable', 'records', 'failures', 'freshness', 'held', 'contradicted', 'closures',
    'subscriptions', 'gaps', 'error_rate', 'truth', 'list_signal', 'not_offered', 'short_lists', 'outcomes', 'daemon', 'daemon_answers', 'database', 'inbox', 'files', 'storage', 'storefront', 'jobs', 'snapshot', 'backup', 'conditions',
  ],
  'resync --wait': ['job_id', 'records', 'failed', 'calls', 'received_bytes', 'seconds', 'peak_memory_mib'],
  probe: ['unusable', 'cut_short', 'calls', 'findings', 'profile'],
  'resync --dry-run': ['records', 'calls', 'minutes', 'estimated_from', 'at_least'],
  explain: [
    'product_id', 'title', 'sale_status', 'sellable', 'disabled_reason', 'expected_reopening', 'dates_off_at', 'throttled_until', 'withdrawn_at', 'first_seen_at',
    'timezone', 'today', 'category', 'weight', 'weighed', 'images', 'records', 'claims', 'unreadable', 'covered', 'notices', 'announced_by', 'list_signal',
    'closures', 'calls_per_day',
  ],
  'explain --date': ['product_id', 'date', 'now', 'history', 'claims'],
  plan: ['products', 'lines', 'calls_per_day', 'rate', 'ceiling', 'share_of_ceiling', 'sweeps', 'lanes', 'broken', 'buys', 'interest', 'what_if'],
  'plan --declaration': ['endpoints'],
  'report --week': [
    'at', 'week', 'mirror', 'written_by', 'filled_at', 'known_since', 'currency', 'products', 'prices', 'images',
    'sold_without_subscription', 'truth', 'checkout', 'fruitless_searches', 'week_before',
  ],
  check: ['verdict', 'reasons', 'now', 'mirror', 'alternatives'],
  'check: verdict': ['holds', 'changed', 'gone', 'unknown'],
  'check: reasons': checkReasons,
  'check: now': ['sellable', 'state', 'time', 'price', 'max_tickets_per_order', 'slots', 'read_at'],
  'check: mirror': ['sellable', 'state', 'time', 'price', 'max_tickets_per_order', 'slots', 'checked_at', 'stale'],
  'check: alternatives': ['kind', 'product_id', 'date', 'time', 'price', 'checked_at'],
  'held list': ['held'],
  'held list: held': [
    'subject', 'since', 'state', 'able', 'claiming', 'decision', 'decided_until', 'ended_at', 'likeness', 'examples',
  ],
  'images audit': [
    'at', 'service', 'mirror', 'written_by', 'filled_at', 'rule', 'summary', 'published', 'takedowns', 'credit_changes', 'breaches',
  ],
  'notifications list': ['counts', 'deliveries'],
  'notifications show': [
    'delivery_id', 'received_at', 'subscription_id', 'epoch', 'peer', 'content_type', 'length', 'truncated', 'sha256', 'state',
    'reason', 'settled_at', 'replay_of', 'body_gone', 'text', 'base64',
  ],
  'subscription list': ['subscriptions', 'waiting', 'uncovered'],
  'subscription show': ['subscription_id', 'declared', 'service', 'differences', 'failure', 'last_attempt'],
  'subscription apply': ['subscription_id', 'action', 'differences', 'request', 'done', 'message'],
  changes: ['seq', 'at', 'product_id', 'kind', 'language', 'date', 'detail'],
  jobs: ['jobs'],
  'jobs: jobs': Object.keys(jobRuns.shape),
  'jobs run': Object.keys(jobAnswer.shape),
  reload: Object.keys(reload.shape),
  doctor: ['checks', 'healthy'],
  repair: ['mirror', 'inbox', 'plan', 'moved', 'restored', 'dry_run'],
  backup: ['backup', 'made_at', 'bytes', 'removed'],
  'backup --list': ['directory', 'backups', 'tried'],
  restore: ['backup', 'made_at', 'made_by', 'mirror', 'inbox', 'moved', 'dry_run'],
  'upgrade --check': [
    'version', 'written_by', 'mirror', 'inbox', 'contract', 'added', 'removed', 'backup_ms', 'change_ms', 'needed_bytes', 'free_bytes',
  ],
  'doctor --reader': ['path', 'user', 'checks', 'healthy'],
}; // biome-ignore format: lists of fields

const rowOf = (view: keyof typeof contract) => Object.keys(contract[view].columns);

/** What the functions of `catalogued/reader` return: the fields of each row; [] where it is no row. */
export const reader: Readonly<Record<string, readonly string[]>> = {
  info: rowOf('mirror_info'),
  product: rowOf('products'),
  products: rowOf('products'),
  prices: rowOf('product_prices'),
  experience: rowOf('experiences'),
  experiences: rowOf('experiences'),
  cities: rowOf('cities'),
  countries: rowOf('countries'),
  tags: rowOf('tags'),
  images: rowOf('images'),
  experienceImages: rowOf('experience_images'),
  checkoutInformation: rowOf('checkout_information'),
  variants: rowOf('variants'),
  withdrawn: rowOf('withdrawn_products'),
  calendar: rowOf('availability_days'),
  slots: rowOf('availability_slots'),
  cheapest: rowOf('availability_days'),
  exact: [
    'product_id', 'language', 'title', 'tagline', 'city_id', 'city_name', 'latitude', 'longitude', 'sellable', 'rating',
    'popularity', 'price', 'price_variant_type', 'currency', 'date', 'checked_at', 'stale', 'distance_km',
  ], // biome-ignore format: a list of fields
  search: ['hits', 'total', 'matched', 'dropped', 'meant', 'facets'],
  alternatives: rowOf('products'),
  related: rowOf('products'),
  newest: ['next', 'feed'],
  changes: ['changes', 'next', 'feed'],
  freshness: rowOf('freshness'),
  currencies: rowOf('currencies'),
  policies: rowOf('policies'),
  check: outputs.check ?? [],
  order: ['repeated', 'due', 'mirror'],
  seen: [],
  sellable: [],
  transaction: [],
  close: [],
};
