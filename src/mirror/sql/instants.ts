import { type Instant, instant } from '../../kernel/clock.ts';
import type { InstantRule } from '../../kernel/sqlite/instants.ts';
import type { UntieredResource } from '../../schedule/resources.rules.ts';
import type { Tables } from './tables.ts';

type InstantColumn<Table> = {
  [Column in keyof Table]: NonNullable<Table[Column]> extends Instant ? Column : never;
}[keyof Table];

/**
 * Start and length of the period after which a row is stale: its read, and the cadence of the resource that brings the row.
 * `record`: each row has its own cadence, as it was when the row was planned.
 */
interface StaleRule<Table> {
  readonly after: InstantColumn<Table>;
  readonly cadence: UntieredResource | 'availability' | 'record';
}

/** A rule for every column of a table that is an instant, and for those that count whole days. */
type InstantsOf<Table> = {
  readonly [Column in InstantColumn<Table>]: Column extends 'stale_at' ? StaleRule<Table> : InstantRule;
} & { readonly [Column in Exclude<keyof Table, InstantColumn<Table>>]?: 'day' };

type TableWithInstants = {
  [Name in keyof Tables]: InstantColumn<Tables[Name]> extends never ? never : Name;
}[keyof Tables];

type MirrorInstants = {
  readonly [Name in TableWithInstants]: InstantsOf<Tables[Name]>;
} & { readonly [Name in Exclude<keyof Tables, TableWithInstants>]?: InstantsOf<Tables[Name]> };

/** The instants of a read: when it was made, and until when it is believed. */
function readOf<Cadence extends UntieredResource | 'availability'>(cadence: Cadence) {
  return { checked_at: 'now', stale_at: { after: 'checked_at', cadence } } as const;
}

/** The instants of what a read brings: those of the read, and when it last differed. */
function copyOf(cadence: UntieredResource) {
  return { ...readOf(cadence), changed_at: 'now' } as const;
}

/** The instants of rows that may be held. */
const shown = {
  held_at: 'now',
  shown_stale_at: { leave: 'computed of the others' },
  expired_at: { leave: 'computed of the others' },
} as const;

/**
 * Repair of each instant in the mirror that a wrong clock has written. For the instant of a read, the records make the read
 * due again; meanwhile the data shown is stale, and images fail closed.
 */
export const mirrorInstants: MirrorInstants = {
  _mirror: { filled_at: 'now' },
  _row_mark: { at: { leave: 'rows noted by a wrong clock are kept a little longer' } },
  _followed: { published_at: { leave: 'by the clock of the daemon that is followed' } },
  _zone_offset: { valid_from: { leave: 'written again for the years around now with every healing' } },
  _product: {
    first_seen_at: 'now',
    withdrawn_at: 'now',
    sold_at: 'now',
    asked_at: 'now',
    dates_off_at: 'now',
    signal_at: 'absent',
    signal_before_at: 'absent',
  },
  // Only an authenticated read verifies an image, and nobody knows when that one was.
  _product_read: { read_at: 'now', images_verified_at: 'absent' },
  _product_text: { changed_at: 'now' },
  _text_read: { ...readOf('products'), list_read_at: 'absent', detail_read_at: 'absent', ...shown },
  product: {
    changed_at: 'now',
    offset_until_at: { leave: 'written again with the zones, after every healing' },
  },
  _price_read: { ...readOf('products'), ...shown },
  price: {
    from_at: { leave: 'of a time at the venue, whatever our clock shows' },
    until_at: { leave: 'of a time at the venue, whatever our clock shows' },
  },
  _experience: { ...copyOf('experiences'), images_verified_at: 'absent' },
  _tag: copyOf('tags'),
  image: { first_seen_at: 'now', withdrawn_at: 'now', doubted_at: 'now' },
  _image_credit: { at: 'now' },
  _image_takedown: { withdrawn_at: 'now', verified_at: 'absent', returned_at: 'now' },
  _image_file: { fetched_at: 'now', checked_at: 'absent', due_at: 'ahead' },
  checkout: { ...copyOf('checkout_information'), held_at: 'now' },
  _variant: { ...copyOf('variants'), held_at: 'now' },
  _variant_group: { read_at: 'now' },
  date_window: { ...readOf('availability'), ...shown },
  day: {
    from_at: { leave: 'of a time at the venue, whatever our clock shows' },
    counted_until_at: { leave: 'of a time at the venue, whatever our clock shows' },
    until_at: { leave: 'of a time at the venue, whatever our clock shows' },
  },
  slot_day: { zero_at: { leave: 'of the venue, whatever our clock shows' } },
  _record: {
    due_at: { after: 'fetched_at' },
    fetched_at: 'absent',
    changed_at: 'absent',
    stale_at: { after: 'fetched_at', cadence: 'record' },
    failed_at: 'now',
    notified_at: 'now',
    told_at: 'absent',
    off_sale_at: 'now',
    unanswered_at: 'now',
  },
  _walk: {
    started_at: { leave: 'a walk that began in the future, or long ago, begins again' },
    completed_at: 'now',
  },
  _short_list: { since_at: 'now', walked_at: 'now', agreed_at: 'now' },
  _job: { requested_at: 'now', finished_at: 'now' },
  // A price that is older than six hours, or younger than now, is found again; pauses in `state` end by themselves.
  _budget: { surveyed_at: 'absent' },
  _change: { at: 'now' },
  _absence: { first_missing_at: 'now', last_missing_at: 'now', answered_at: 'now' },
  _outcome: { last_ok_at: 'now', failed_at: 'now', noticed_at: 'now' },
  // A claim of a wrong clock has to be said twice again; a hold is judged again.
  _claim: { first_at: 'now', last_at: 'now', held_at: 'now', applied_at: 'now', back_at: 'now' },
  _unreadable: { first_at: 'now', last_at: 'now' },
  _held: {
    opened_at: 'now',
    next_at: 'ahead',
    sampled_at: 'absent',
    decided_until: 'ahead',
    ended_at: 'now',
  },
  // An "available" has to be repeated after a minute; that it was closed stands.
  _closure: { notified_at: 'now', applied_at: 'now', available_at: 'absent', confirmed_at: 'now', ended_at: 'now' },
  _subscription: {
    status_at: 'now',
    checked_at: 'absent',
    read_not_before: 'ahead',
    put_at: 'now',
    wrested_at: 'absent',
    tried_at: 'absent',
    not_before: 'ahead',
    last_delivery_at: 'now',
    not_understood_at: 'now',
  },
  _subscription_product: { since_at: 'now' },
  _notice: { received_at: 'now' },
  // A notification that a subscription should have sent according to a wrong clock does not count against it.
  _expected_notice: { since_at: 'row', found_at: 'row' },
  _gap: { from_at: 'now', to_at: 'now', closed_at: 'now' },
  _check_count: { day: 'day' },
  _audit: { from_at: 'row' },
  _on_sale: { counted_at: 'row' },
  _interest: { counted_at: 'now' },
  _offer: { answered_at: 'now', refused_at: 'now', not_offered_at: 'now', asked_at: 'absent' },
};

/** Returns the beginning of an instant's second. Views count whole seconds: held rows are stale from the first. */
export function secondOf(at: Instant): Instant {
  return instant(at - (at % 1000));
}
