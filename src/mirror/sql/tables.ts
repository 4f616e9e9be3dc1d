// Made of schema/mirror/ and column-types.ts: npx vitest run --config test/vitest.config.ts mirror/tables -u
import type { Instant } from '../../kernel/clock.ts';
import type { ColumnTypes as Is } from './column-types.ts';

/** Rows of the tables of a mirror. Booleans are 0 or 1. */
export interface Tables {
  _mirror: { mirror_id: 1; pair_id: string; contract_version: number; schema_version: number; written_by: string; feed_floor_seq: number; filled_at: Instant | null; language: string | null; currency: string | null; last_delivery_id: number; image_size: Is['image_size'] | null; feed_id: string | null; last_order_number: number };
  _zone_offset: { timezone: string; valid_from: Is['valid_from']; offset_minutes: number };
  _product: { product_id: number; timezone: string | null; sale_status: 'enabled' | 'disabled' | 'unknown'; disabled_reason: string | null; disabled_source: 'read' | 'notification' | null; expected_reopening: string | null; alternative_product_id: number | null; closure_unconfirmed: 0 | 1; city_id: number | null; country_id: number | null; venue_id: number | null; latitude: number | null; longitude: number | null; rating: number | null; first_seen_at: Instant; withdrawn_at: Instant | null; withdrawn_reason: string | null; sellable: 0 | 1; shut: Is['shut']; category: string | null; sold: number; sold_at: Instant | null; covered: 0 | 1; dates_off_at: Instant | null; rating_count: number | null; weighed_rating: number; asked: number; asked_at: Instant | null; signal_at: Instant | null; signal_before_at: Instant | null };
  product: { product_id: number; language: string; read_language: string; language_shown: string; title: string | null; tagline: string | null; sale_status: 'enabled' | 'disabled' | 'unknown'; sellable: 0 | 1; disabled_reason: string | null; disabled_source: 'read' | 'notification' | null; expected_reopening: string | null; alternative_product_id: number | null; currency: string; city_id: number | null; city_name: string | null; city_path: string | null; country_id: number | null; country_name: string | null; venue_id: number | null; latitude: number | null; longitude: number | null; timezone: string | null; rating: number | null; rating_count: number | null; changed_at: Instant; detail_target_ms: number | null; utc_offset: number | null; offset_until_at: Instant | null; next_utc_offset: number | null; slug: string | null; url: string | null; summary: string | null; description: string | null; highlights: string | null; whats_included: string | null; whats_excluded: string | null; marketing_restrictions: string | null; promo_label: string | null; discount_percentage: number | null; skip_line: 0 | 1 | null; smartphone_ticket: 0 | 1 | null; instant_ticket_delivery: 0 | 1 | null; duration: string | null; duration_minutes: number | null; advance_arrival_minutes: number | null; last_admission_minutes: number | null; starting_point_address: string | null; starting_point_label: string | null; starting_point_city_id: number | null; starting_point_latitude: number | null; starting_point_longitude: number | null; languages: string | null; live_guide_languages: string | null; audio_guide_languages: string | null; cancellation_policy: string | null; cancellation_window: number | null; supplier: string | null; venue_name: string | null; venue_address: string | null; wheelchair_access: 0 | 1 | null; is_package: 0 | 1 | null; package_products: string | null; in_packages: string | null; document: string | null };
  alternatives: { product_id: number; alternative_product_id: number };
  product_tags: { product_id: number; tag_id: number };
  _tag: { tag_id: number; language: string; name: string | null; type_name: string | null; type_group_name: string | null; document: string; checked_at: Instant; changed_at: Instant; stale_at: Instant };
  _experience: { experience_id: number; title: string | null; checked_at: Instant; changed_at: Instant; stale_at: Instant; document_hash: string; images_verified_at: Instant | null; path: string | null; tagline: string | null; description: string | null; url: string | null; address: string | null; city_name: string | null; country_name: string | null; latitude: number | null; longitude: number | null; rating: number | null; rating_count: number | null; from_price: number | null; currency: string | null; images: string; document: string };
  _product_experience: { product_id: number; experience_id: number };
  product_experiences: { product_id: number; experience_id: number };
  image: { product_id: number; image_key: string; position: number; small_url: string | null; medium_url: string | null; large_url: string | null; extra_large_url: string | null; alt_text: string | null; credit: string | null; file: string | null; document: string; first_seen_at: Instant; withdrawn_at: Instant | null; doubted_at: Instant | null };
  checkout: { product_id: number; language: string; language_shown: string; shown: 0 | 1; has_timeslots: 0 | 1 | null; has_dynamic_pricing: 0 | 1 | null; must_know: string | null; good_to_know: string | null; checked_at: Instant; changed_at: Instant; stale_at: Instant; held_at: Instant | null; document: string; pre_purchase: string | null; usage: string | null; included: string | null; excluded: string | null; post_purchase: string | null };
  _variant: { product_id: number; language: string; variant_id: number; checked_at: Instant; changed_at: Instant; stale_at: Instant; variants_document: string | null; availability_document: string | null; merged_document: string | null; label: string | null; variant_type: string | null; description: string | null; cancellation_policy: string | null; cancellation_window: number | null; valid_with: string | null; visitors_details: string | null; languages: string | null; group_ids: string | null; held_at: Instant | null };
  date_window: { window_id: number; product_id: number; currency: string; from_date: string; to_date: string; checked_at: Instant; stale_at: Instant; held_at: Instant | null; shut: Is['shut']; max_tickets_per_order: number | null; shown_stale_at: Instant; expired_at: Instant; body_hash: string; variant_ids: string };
  day: { product_id: number; currency: string; date: string; until_at: Instant; from_at: Instant; state: 'available' | 'sold_out' | 'not_on_sale'; lowest_price: number | null; lowest_adult_price: number | null; price_variant_type: string | null; max_tickets: number | null; availability: number | null; counted_until_at: Instant; window_id: number };
  _walk: { resource: Is['resource']; edition: string; started_at: Instant; next_page: number; attempt: number; repeated: number; completed_at: Instant | null; counted: number | null; unusable: number; unusable_example: string | null };
  _job: { job_id: number; scope: string; requested_at: Instant; records: number; failed: number; finished_at: Instant | null };
  _target: { resource: Is['_target.resource']; tier: string; target_ms: number; first_part: number; last_part: number };
  _budget: { budget_id: 1; state: string | null; surveyed_at: Instant | null; category_cadences: string | null; demand: string | null; replanned_to: number | null; made_for: string | null };
  _change: { seq: number; at: Instant; product_id: number; kind: Is['_change.kind']; language: string | null; date: string | null; detail: string; reason: Is['_change.reason'] | null; total_bytes: number };
  _absence: { resource: Is['resource']; id: number; missing_walks: number; first_missing_at: Instant; last_missing_at: Instant; answer: 'gone' | 'permanently-gone' | 'there' | null; answered_at: Instant | null };
  _outcome: { operation: Is['operation']; last_ok_at: Instant | null; failed_at: Instant | null; noticed_at: Instant | null; affected: number; detail: string | null };
  _closure: { closure_id: number; product_id: number; delivery_id: number; notified_at: Instant; applied_at: Instant | null; available_at: Instant | null; confirmed_at: Instant | null; ended_at: Instant | null; reason: string | null; expected_reopening: string | null; alternative_product_id: number | null };
  _subscription: { subscription_id: string; declared_id: string | null; type: Is['_subscription.type']; held_type: string | null; status: string | null; status_at: Instant | null; change_types: string | null; entity_ids: string | null; address: 'ours' | 'moved' | 'foreign' | null; epoch: number | null; differences: string; checked_at: Instant | null; read_failures: number; read_not_before: Is['read_not_before'] | null; put_at: Instant | null; put_hash: string | null; wrested_at: Instant | null; tried_at: Instant | null; failures: number; failure: string | null; not_before: Is['not_before'] | null; last_delivery_at: Instant | null; announced: number; announceable: number; trusted: 0 | 1; failure_kind: 'refused' | 'missing' | 'throttled' | 'unreachable' | 'failed' | 'self-test' | null; not_understood: number; not_understood_at: Instant | null };
  _subscription_product: { subscription_id: string; product_id: number; since_at: Instant | null };
  _notice: { subscription_id: string; product_id: number; change_type: string; received_at: Instant; awaited: 0 | 1; awaits: string | null };
  _expected_notice: { product_id: number; change_type: Is['_expected_notice.change_type']; since_at: Instant; found_at: Instant };
  _gap: { gap_id: number; subscription_id: string | null; from_at: Instant; to_at: Instant | null; healed_to: number; products: number; closed_at: Instant | null };
  _image_credit: { product_id: number; image_key: string; at: Instant; old: string | null; new: string | null };
  _image_takedown: { product_id: number; image_key: string; withdrawn_at: Instant; verified_at: Instant | null; cause: 'image' | 'product'; credit: string | null; returned_at: Instant | null };
  _image_file: { product_id: number; image_key: string; size: Is['size']; url: string; file: string | null; checksum: string | null; media_type: Is['media_type'] | null; width: number | null; height: number | null; bytes: number | null; etag: string | null; last_modified: string | null; fetched_at: Instant | null; checked_at: Instant | null; due_at: Instant; failures: number; failure: string | null; failure_kind: 'gone' | 'failed' | null };
  search_entries: { search_id: number; product_id: number; language: string; title: string | null; tagline: string | null; summary: string | null; city: string | null; venue: string | null; country: string | null };
  _check_count: { product_id: number; tier: 'near' | 'middle' | 'far'; day: number; checks: number; wrong: number; orders: number; orders_wrong: number; tickets: number; said_available: number; said_sold_out: number; said_price: number; unknown: number; unanswered: number };
  _search_text: { search_id: number; name: string; title: string; city: string; country: string; venue: string; tagline: string; summary: string };
  search_words: { word: string; language: string; term: string; documents: number };
  search_deletes: { shorter: string; word: string };
  search_letters: { letter: string; folded: string };
  search_generic_words: { language: string; word: string };
  _search_rules: { rules_id: 1; version: string };
  _unpriced: { product_id: number };
  languages: { language: string; is_primary: 0 | 1 };
  currencies: { currency: string; is_primary: 0 | 1; exponent: number };
  _variant_group: { product_id: number; group_id: number; name: string; read_at: Instant };
  _interest: { product_id: number; part: number; views: number; counted_at: Instant };
  _audit: { from_at: Instant; tier: 'all' | 'near' | 'middle' | 'far'; audited: number; outdated: number };
  _on_sale: { counted_at: Instant; sellable: number; days: number };
  _signal: { tier: Is['_signal.tier']; rightly: number; wrongly: number; shown: number; hidden: number };
  _row: { number: number; source: string; key: string };
  _row_feed: { row_feed_id: 1; origin: string; floor: number; publish: Is['publish']; schema_version: number; last_seq: number | null };
  _row_mark: { at: Instant; number: number };
  _followed: { followed_id: 1; origin: string; number: number; published_at: Instant };
  _short_list: { resource: Is['resource']; edition: string; since_at: Instant; walked_at: Instant; counted: number; met: number; unusable: number; unusable_example: string | null; row_hash: string; lists: number; agreed_at: Instant };
  _claim: { subject: Is['subject']; resource: Is['resource']; product_id: number; edition: string; part: number; shown: number | null; said: number | null; first_at: Instant; last_at: Instant; held_at: Instant | null; applied_at: Instant | null; shown_as: string | null; said_as: string | null; back_at: Instant | null };
  _held: { subject: Is['subject']; opened_at: Instant; state: Is['_held.state']; next_at: Instant; sampled_at: Instant | null; sample: string; shares: string; decision: Is['_held.decision'] | null; decided_until: Is['decided_until'] | null; ended_at: Instant | null; likeness: string | null };
  policies: { resource: 'products' | 'product_prices' | 'product_detail' | 'checkout_information' | 'variants' | 'experiences' | 'tags' | 'images' | 'availability' | 'day_prices'; state: 'fresh' | 'stale' | 'expired' | 'unknown'; action: 'show' | 'show_as_from' | 'check_first' | 'hide'; expires_after: number | null; reason: string };
  _unreadable: { resource: Is['resource']; member: string; product_id: number; edition: string; part: number; example: string; first_at: Instant; last_at: Instant; kept: 0 | 1 };
  _record: { resource: Is['resource']; product_id: number; edition: string; part: number; due_at: Instant; due_reason: Is['due_reason']; fetched_at: Instant | null; changed_at: Instant | null; stale_at: Instant | null; body_hash: string | null; failures: number; failed_at: Instant | null; failure: string | null; job_id: number | null; lane: number; fetched_reason: Is['fetched_reason'] | null; shape: number | null; exposure: number | null; notified_at: Instant | null; told_at: Instant | null; off_sale_at: Instant | null; unanswered_at: Instant | null; shows: Is['shows'] | null; times: number | null };
  _offer: { path: 'experiences' | 'tags' | 'product' | 'checkout_information' | 'variants' | 'subscription' | 'reactivate'; answered_at: Instant | null; refused_at: Instant | null; not_offered_at: Instant | null; asked_at: Instant | null; refusal: 'path' | 'key' };
  _wave: { subject: Is['subject']; state: string };
  slot_day: { product_id: number; currency: string; date: string; rest: string; slots: string; zero_at: Instant; ends: string | null };
  _product_read: { product_id: number; read_at: Instant; images_verified_at: Instant | null; list_place: number | null };
  _text_read: { product_id: number; language: string; checked_at: Instant; stale_at: Instant; list_read_at: Instant | null; detail_read_at: Instant | null; held_at: Instant | null; shown_stale_at: Instant; expired_at: Instant };
  _product_text: { product_id: number; language: string; title: string | null; tagline: string | null; city_name: string | null; city_path: string | null; country_name: string | null; changed_at: Instant; list_document: string | null; list_hash: string | null; detail_document: string | null; detail_hash: string | null; merged_document: string | null };
  _price_read: { product_id: number; currency: string; checked_at: Instant; stale_at: Instant; held_at: Instant | null; shown_stale_at: Instant; expired_at: Instant };
  price: { product_id: number; currency: string; until_at: Instant; from_at: Instant; from_price: number | null; prediscount_price: number | null; lowest_price: number | null; lowest_adult_price: number | null; price_variant_type: string | null; shut: Is['shut'] };
  _walk_page: { resource: Is['resource']; edition: string; attempt: number; page: number; ids: string };
}

/** Columns that have a value where an insert names none: a default, the next number, or what is computed. */
export interface Defaulted {
  _mirror: 'feed_floor_seq' | 'last_delivery_id' | 'last_order_number';
  _product: 'closure_unconfirmed' | 'sellable' | 'shut' | 'sold' | 'covered' | 'weighed_rating' | 'asked';
  date_window: 'window_id' | 'shown_stale_at' | 'expired_at';
  _walk: 'unusable';
  _job: 'job_id' | 'failed';
  _change: 'seq' | 'total_bytes';
  _closure: 'closure_id';
  _subscription: 'differences' | 'read_failures' | 'failures' | 'announced' | 'announceable' | 'trusted' | 'not_understood';
  _notice: 'awaited';
  _gap: 'gap_id' | 'healed_to' | 'products';
  _image_file: 'failures';
  search_entries: 'search_id';
  _record: 'failures' | 'lane';
  _offer: 'refusal';
  _text_read: 'shown_stale_at' | 'expired_at';
  _price_read: 'shown_stale_at' | 'expired_at';
}
