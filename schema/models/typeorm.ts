// Made from schema/contract.json, contract 2: what each column means stands there.
// TypeORM 0.3: new DataSource({ type: 'better-sqlite3', database: 'data/mirror.db', readonly: true, enableWAL: false, entities: [Products, …] })
import { ViewColumn, ViewEntity } from 'typeorm';

@ViewEntity({ name: 'products', synchronize: false })
export class Products {
  @ViewColumn() product_id!: number;
  @ViewColumn() language!: string;
  @ViewColumn() language_shown!: string;
  @ViewColumn() title!: string | null;
  @ViewColumn() tagline!: string | null;
  @ViewColumn() sale_status!: string;
  @ViewColumn() sellable!: number;
  @ViewColumn() disabled_reason!: string | null;
  @ViewColumn() disabled_source!: string | null;
  @ViewColumn() expected_reopening!: string | null;
  @ViewColumn() alternative_product_id!: number | null;
  @ViewColumn() from_price!: number | null;
  @ViewColumn() lowest_price!: number | null;
  @ViewColumn() lowest_adult_price!: number | null;
  @ViewColumn() price_variant_type!: string | null;
  @ViewColumn() currency!: string;
  @ViewColumn() city_id!: number | null;
  @ViewColumn() city_name!: string | null;
  @ViewColumn() city_slug!: string | null;
  @ViewColumn() country_id!: number | null;
  @ViewColumn() country_name!: string | null;
  @ViewColumn() venue_id!: number | null;
  @ViewColumn() latitude!: number | null;
  @ViewColumn() longitude!: number | null;
  @ViewColumn() timezone!: string | null;
  @ViewColumn() rating!: number | null;
  @ViewColumn() rating_count!: number | null;
  @ViewColumn() prediscount_price!: number | null;
  @ViewColumn() slug!: string | null;
  @ViewColumn() url!: string | null;
  @ViewColumn() summary!: string | null;
  @ViewColumn() description!: string | null;
  @ViewColumn() highlights!: string | null;
  @ViewColumn() whats_included!: string | null;
  @ViewColumn() whats_excluded!: string | null;
  @ViewColumn() marketing_restrictions!: string | null;
  @ViewColumn() promo_label!: string | null;
  @ViewColumn() discount_percentage!: number | null;
  @ViewColumn() skip_line!: number | null;
  @ViewColumn() smartphone_ticket!: number | null;
  @ViewColumn() instant_ticket_delivery!: number | null;
  @ViewColumn() duration!: string | null;
  @ViewColumn() duration_minutes!: number | null;
  @ViewColumn() advance_arrival_minutes!: number | null;
  @ViewColumn() last_admission_minutes!: number | null;
  @ViewColumn() starting_point_address!: string | null;
  @ViewColumn() starting_point_label!: string | null;
  @ViewColumn() starting_point_city_id!: number | null;
  @ViewColumn() starting_point_latitude!: number | null;
  @ViewColumn() starting_point_longitude!: number | null;
  @ViewColumn() languages!: string | null;
  @ViewColumn() live_guide_languages!: string | null;
  @ViewColumn() audio_guide_languages!: string | null;
  @ViewColumn() cancellation_policy!: string | null;
  @ViewColumn() cancellation_window!: number | null;
  @ViewColumn() supplier!: string | null;
  @ViewColumn() venue_name!: string | null;
  @ViewColumn() venue_address!: string | null;
  @ViewColumn() venue_today!: string | null;
  @ViewColumn() wheelchair_access!: number | null;
  @ViewColumn() is_package!: number | null;
  @ViewColumn() package_products!: string | null;
  @ViewColumn() in_packages!: string | null;
  @ViewColumn() document!: string;
  @ViewColumn() checked_at!: number;
  @ViewColumn() changed_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
  @ViewColumn() detail_freshness!: string;
}

@ViewEntity({ name: 'product_prices', synchronize: false })
export class ProductPrices {
  @ViewColumn() product_id!: number;
  @ViewColumn() currency!: string;
  @ViewColumn() from_price!: number | null;
  @ViewColumn() lowest_price!: number | null;
  @ViewColumn() lowest_adult_price!: number | null;
  @ViewColumn() price_variant_type!: string | null;
  @ViewColumn() prediscount_price!: number | null;
  @ViewColumn() checked_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
}

@ViewEntity({ name: 'product_tags', synchronize: false })
export class ProductTags {
  @ViewColumn() product_id!: number;
  @ViewColumn() tag_id!: number;
}

@ViewEntity({ name: 'tags', synchronize: false })
export class Tags {
  @ViewColumn() tag_id!: number;
  @ViewColumn() language!: string;
  @ViewColumn() language_shown!: string;
  @ViewColumn() name!: string | null;
  @ViewColumn() type_name!: string | null;
  @ViewColumn() type_group_name!: string | null;
  @ViewColumn() document!: string;
  @ViewColumn() checked_at!: number;
  @ViewColumn() changed_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
}

@ViewEntity({ name: 'product_experiences', synchronize: false })
export class ProductExperiences {
  @ViewColumn() product_id!: number;
  @ViewColumn() experience_id!: number;
}

@ViewEntity({ name: 'experiences', synchronize: false })
export class Experiences {
  @ViewColumn() experience_id!: number;
  @ViewColumn() language!: string;
  @ViewColumn() language_shown!: string;
  @ViewColumn() title!: string | null;
  @ViewColumn() slug!: string;
  @ViewColumn() tagline!: string | null;
  @ViewColumn() description!: string | null;
  @ViewColumn() url!: string | null;
  @ViewColumn() address!: string | null;
  @ViewColumn() city_id!: number | null;
  @ViewColumn() city_name!: string | null;
  @ViewColumn() country_id!: number | null;
  @ViewColumn() country_name!: string | null;
  @ViewColumn() latitude!: number | null;
  @ViewColumn() longitude!: number | null;
  @ViewColumn() rating!: number | null;
  @ViewColumn() rating_count!: number | null;
  @ViewColumn() from_price!: number | null;
  @ViewColumn() currency!: string;
  @ViewColumn() products!: number;
  @ViewColumn() sellable_products!: number;
  @ViewColumn() document!: string;
  @ViewColumn() checked_at!: number;
  @ViewColumn() changed_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
}

@ViewEntity({ name: 'experience_images', synchronize: false })
export class ExperienceImages {
  @ViewColumn() experience_id!: number;
  @ViewColumn() position!: number;
  @ViewColumn() image_key!: string;
  @ViewColumn() small_url!: string | null;
  @ViewColumn() medium_url!: string | null;
  @ViewColumn() large_url!: string | null;
  @ViewColumn() extra_large_url!: string | null;
  @ViewColumn() alt_text!: string | null;
  @ViewColumn() credit!: string | null;
  @ViewColumn() verified_at!: number;
  @ViewColumn() expires_at!: number;
  @ViewColumn() document!: string;
}

@ViewEntity({ name: 'cities', synchronize: false })
export class Cities {
  @ViewColumn() city_id!: number;
  @ViewColumn() language!: string;
  @ViewColumn() name!: string | null;
  @ViewColumn() slug!: string;
  @ViewColumn() country_id!: number | null;
  @ViewColumn() products!: number;
  @ViewColumn() sellable_products!: number;
}

@ViewEntity({ name: 'countries', synchronize: false })
export class Countries {
  @ViewColumn() country_id!: number;
  @ViewColumn() language!: string;
  @ViewColumn() name!: string | null;
  @ViewColumn() products!: number;
  @ViewColumn() sellable_products!: number;
}

@ViewEntity({ name: 'withdrawn_products', synchronize: false })
export class WithdrawnProducts {
  @ViewColumn() product_id!: number;
  @ViewColumn() title!: string | null;
  @ViewColumn() slug!: string | null;
  @ViewColumn() city_id!: number | null;
  @ViewColumn() city_name!: string | null;
  @ViewColumn() successor_product_id!: number | null;
  @ViewColumn() withdrawn_at!: number;
  @ViewColumn() reason!: string | null;
}

@ViewEntity({ name: 'alternatives', synchronize: false })
export class Alternatives {
  @ViewColumn() product_id!: number;
  @ViewColumn() alternative_product_id!: number;
}

@ViewEntity({ name: 'checkout_information', synchronize: false })
export class CheckoutInformation {
  @ViewColumn() product_id!: number;
  @ViewColumn() language!: string;
  @ViewColumn() language_shown!: string;
  @ViewColumn() has_timeslots!: number | null;
  @ViewColumn() has_dynamic_pricing!: number | null;
  @ViewColumn() must_know!: string | null;
  @ViewColumn() good_to_know!: string | null;
  @ViewColumn() pre_purchase!: string | null;
  @ViewColumn() usage!: string | null;
  @ViewColumn() included!: string | null;
  @ViewColumn() excluded!: string | null;
  @ViewColumn() post_purchase!: string | null;
  @ViewColumn() document!: string;
  @ViewColumn() checked_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
}

@ViewEntity({ name: 'variants', synchronize: false })
export class Variants {
  @ViewColumn() product_id!: number;
  @ViewColumn() language!: string;
  @ViewColumn() language_shown!: string;
  @ViewColumn() variant_id!: number;
  @ViewColumn() label!: string | null;
  @ViewColumn() variant_type!: string | null;
  @ViewColumn() description!: string | null;
  @ViewColumn() cancellation_policy!: string | null;
  @ViewColumn() cancellation_window!: number | null;
  @ViewColumn() source!: string;
  @ViewColumn() valid_with!: string | null;
  @ViewColumn() visitors_details!: string | null;
  @ViewColumn() languages!: string | null;
  @ViewColumn() group_ids!: string | null;
  @ViewColumn() group_names!: string | null;
  @ViewColumn() document!: string;
  @ViewColumn() checked_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
}

@ViewEntity({ name: 'images', synchronize: false })
export class Images {
  @ViewColumn() product_id!: number;
  @ViewColumn() position!: number;
  @ViewColumn() image_key!: string;
  @ViewColumn() small_url!: string | null;
  @ViewColumn() medium_url!: string | null;
  @ViewColumn() large_url!: string | null;
  @ViewColumn() extra_large_url!: string | null;
  @ViewColumn() alt_text!: string | null;
  @ViewColumn() credit!: string | null;
  @ViewColumn() file!: string | null;
  @ViewColumn() verified_at!: number;
  @ViewColumn() expires_at!: number;
  @ViewColumn() document!: string;
}

@ViewEntity({ name: 'availability_days', synchronize: false })
export class AvailabilityDays {
  @ViewColumn() product_id!: number;
  @ViewColumn() date!: string;
  @ViewColumn() currency!: string;
  @ViewColumn() state!: string;
  @ViewColumn() lowest_price!: number | null;
  @ViewColumn() lowest_adult_price!: number | null;
  @ViewColumn() price_variant_type!: string | null;
  @ViewColumn() max_tickets!: number | null;
  @ViewColumn() availability!: number | null;
  @ViewColumn() max_tickets_per_order!: number | null;
  @ViewColumn() checked_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
}

@ViewEntity({ name: 'availability_slots', synchronize: false })
export class AvailabilitySlots {
  @ViewColumn() product_id!: number;
  @ViewColumn() date!: string;
  @ViewColumn() currency!: string;
  @ViewColumn() time!: string;
  @ViewColumn() variant_id!: number;
  @ViewColumn() availability!: number | null;
  @ViewColumn() max_tickets!: number | null;
  @ViewColumn() retail_price!: number | null;
  @ViewColumn() ticket_value!: number | null;
  @ViewColumn() booking_fee!: number | null;
  @ViewColumn() commission!: number | null;
  @ViewColumn() pricing_restriction!: number | null;
  @ViewColumn() checked_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
}

@ViewEntity({ name: 'bookable_days', synchronize: false })
export class BookableDays {
  @ViewColumn() product_id!: number;
  @ViewColumn() date!: string;
  @ViewColumn() currency!: string;
  @ViewColumn() lowest_price!: number | null;
  @ViewColumn() lowest_adult_price!: number | null;
  @ViewColumn() price_variant_type!: string | null;
  @ViewColumn() max_tickets!: number | null;
  @ViewColumn() checked_at!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired_at!: number;
  @ViewColumn() freshness!: string;
}

@ViewEntity({ name: 'languages', synchronize: false })
export class Languages {
  @ViewColumn() language!: string;
  @ViewColumn() is_primary!: number;
}

@ViewEntity({ name: 'currencies', synchronize: false })
export class Currencies {
  @ViewColumn() currency!: string;
  @ViewColumn() is_primary!: number;
  @ViewColumn() exponent!: number;
}

@ViewEntity({ name: 'changes', synchronize: false })
export class Changes {
  @ViewColumn() seq!: number;
  @ViewColumn() at!: number;
  @ViewColumn() product_id!: number;
  @ViewColumn() kind!: string;
  @ViewColumn() language!: string | null;
  @ViewColumn() date!: string | null;
  @ViewColumn() detail!: string;
}

@ViewEntity({ name: 'policies', synchronize: false })
export class Policies {
  @ViewColumn() resource!: string;
  @ViewColumn() state!: string;
  @ViewColumn() action!: string;
  @ViewColumn() expires_after!: number | null;
  @ViewColumn() reason!: string;
}

@ViewEntity({ name: 'freshness', synchronize: false })
export class Freshness {
  @ViewColumn() resource!: string;
  @ViewColumn() tier!: string;
  @ViewColumn() records!: number;
  @ViewColumn() fresh!: number;
  @ViewColumn() stale!: number;
  @ViewColumn() expired!: number;
  @ViewColumn() oldest_checked_at!: number;
  @ViewColumn() target_ms!: number;
  @ViewColumn() met!: number;
}

@ViewEntity({ name: 'subscriptions', synchronize: false })
export class Subscriptions {
  @ViewColumn() subscription_id!: string;
  @ViewColumn() type!: string;
  @ViewColumn() status!: string | null;
  @ViewColumn() covered_products!: number | null;
  @ViewColumn() last_delivery_at!: number | null;
  @ViewColumn() trust!: number | null;
}

@ViewEntity({ name: 'availability_error_rate', synchronize: false })
export class AvailabilityErrorRate {
  @ViewColumn() product_id!: number;
  @ViewColumn() tier!: string;
  @ViewColumn() checks!: number;
  @ViewColumn() wrong!: number;
  @ViewColumn() orders!: number;
  @ViewColumn() orders_wrong!: number;
  @ViewColumn() rate!: number | null;
  @ViewColumn() said_available!: number;
  @ViewColumn() said_sold_out!: number;
  @ViewColumn() said_price!: number;
  @ViewColumn() tickets!: number;
  @ViewColumn() unknown!: number;
  @ViewColumn() unanswered!: number;
  @ViewColumn() since_at!: number;
}

@ViewEntity({ name: 'mirror_info', synchronize: false })
export class MirrorInfo {
  @ViewColumn() contract_version!: number;
  @ViewColumn() schema_version!: number;
  @ViewColumn() written_by!: string;
  @ViewColumn() feed_floor_seq!: number;
  @ViewColumn() filled_at!: number | null;
  @ViewColumn() feed_id!: string;
  @ViewColumn() published_at!: number | null;
}
