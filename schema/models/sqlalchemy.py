# Made from schema/contract.json, contract 2: what each column means stands there.
# SQLAlchemy 1.4 or newer: create_engine("sqlite:///file:data/mirror.db?mode=ro&uri=true")
from sqlalchemy import Column, Float, Integer, Text
from sqlalchemy.orm import declarative_base

Base = declarative_base()


class Products(Base):
    __tablename__ = "products"
    product_id = Column(Integer, primary_key=True)
    language = Column(Text, primary_key=True)
    language_shown = Column(Text, nullable=False)
    title = Column(Text, nullable=True)
    tagline = Column(Text, nullable=True)
    sale_status = Column(Text, nullable=False)
    sellable = Column(Integer, nullable=False)
    disabled_reason = Column(Text, nullable=True)
    disabled_source = Column(Text, nullable=True)
    expected_reopening = Column(Text, nullable=True)
    alternative_product_id = Column(Integer, nullable=True)
    from_price = Column(Integer, nullable=True)
    lowest_price = Column(Integer, nullable=True)
    lowest_adult_price = Column(Integer, nullable=True)
    price_variant_type = Column(Text, nullable=True)
    currency = Column(Text, nullable=False)
    city_id = Column(Integer, nullable=True)
    city_name = Column(Text, nullable=True)
    city_slug = Column(Text, nullable=True)
    country_id = Column(Integer, nullable=True)
    country_name = Column(Text, nullable=True)
    venue_id = Column(Integer, nullable=True)
    latitude = Column(Float, nullable=True)
    longitude = Column(Float, nullable=True)
    timezone = Column(Text, nullable=True)
    rating = Column(Float, nullable=True)
    rating_count = Column(Integer, nullable=True)
    prediscount_price = Column(Integer, nullable=True)
    slug = Column(Text, nullable=True)
    url = Column(Text, nullable=True)
    summary = Column(Text, nullable=True)
    description = Column(Text, nullable=True)
    highlights = Column(Text, nullable=True)
    whats_included = Column(Text, nullable=True)
    whats_excluded = Column(Text, nullable=True)
    marketing_restrictions = Column(Text, nullable=True)
    promo_label = Column(Text, nullable=True)
    discount_percentage = Column(Float, nullable=True)
    skip_line = Column(Integer, nullable=True)
    smartphone_ticket = Column(Integer, nullable=True)
    instant_ticket_delivery = Column(Integer, nullable=True)
    duration = Column(Text, nullable=True)
    duration_minutes = Column(Integer, nullable=True)
    advance_arrival_minutes = Column(Integer, nullable=True)
    last_admission_minutes = Column(Integer, nullable=True)
    starting_point_address = Column(Text, nullable=True)
    starting_point_label = Column(Text, nullable=True)
    starting_point_city_id = Column(Integer, nullable=True)
    starting_point_latitude = Column(Float, nullable=True)
    starting_point_longitude = Column(Float, nullable=True)
    languages = Column(Text, nullable=True)
    live_guide_languages = Column(Text, nullable=True)
    audio_guide_languages = Column(Text, nullable=True)
    cancellation_policy = Column(Text, nullable=True)
    cancellation_window = Column(Integer, nullable=True)
    supplier = Column(Text, nullable=True)
    venue_name = Column(Text, nullable=True)
    venue_address = Column(Text, nullable=True)
    venue_today = Column(Text, nullable=True)
    wheelchair_access = Column(Integer, nullable=True)
    is_package = Column(Integer, nullable=True)
    package_products = Column(Text, nullable=True)
    in_packages = Column(Text, nullable=True)
    document = Column(Text, nullable=False)
    checked_at = Column(Integer, nullable=False)
    changed_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)
    detail_freshness = Column(Text, nullable=False)


class ProductPrices(Base):
    __tablename__ = "product_prices"
    product_id = Column(Integer, primary_key=True)
    currency = Column(Text, primary_key=True)
    from_price = Column(Integer, nullable=True)
    lowest_price = Column(Integer, nullable=True)
    lowest_adult_price = Column(Integer, nullable=True)
    price_variant_type = Column(Text, nullable=True)
    prediscount_price = Column(Integer, nullable=True)
    checked_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)


class ProductTags(Base):
    __tablename__ = "product_tags"
    product_id = Column(Integer, primary_key=True)
    tag_id = Column(Integer, primary_key=True)


class Tags(Base):
    __tablename__ = "tags"
    tag_id = Column(Integer, primary_key=True)
    language = Column(Text, primary_key=True)
    language_shown = Column(Text, nullable=False)
    name = Column(Text, nullable=True)
    type_name = Column(Text, nullable=True)
    type_group_name = Column(Text, nullable=True)
    document = Column(Text, nullable=False)
    checked_at = Column(Integer, nullable=False)
    changed_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)


class ProductExperiences(Base):
    __tablename__ = "product_experiences"
    product_id = Column(Integer, primary_key=True)
    experience_id = Column(Integer, primary_key=True)


class Experiences(Base):
    __tablename__ = "experiences"
    experience_id = Column(Integer, primary_key=True)
    language = Column(Text, primary_key=True)
    language_shown = Column(Text, nullable=False)
    title = Column(Text, nullable=True)
    slug = Column(Text, nullable=False)
    tagline = Column(Text, nullable=True)
    description = Column(Text, nullable=True)
    url = Column(Text, nullable=True)
    address = Column(Text, nullable=True)
    city_id = Column(Integer, nullable=True)
    city_name = Column(Text, nullable=True)
    country_id = Column(Integer, nullable=True)
    country_name = Column(Text, nullable=True)
    latitude = Column(Float, nullable=True)
    longitude = Column(Float, nullable=True)
    rating = Column(Float, nullable=True)
    rating_count = Column(Integer, nullable=True)
    from_price = Column(Integer, nullable=True)
    currency = Column(Text, nullable=False)
    products = Column(Integer, nullable=False)
    sellable_products = Column(Integer, nullable=False)
    document = Column(Text, nullable=False)
    checked_at = Column(Integer, nullable=False)
    changed_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)


class ExperienceImages(Base):
    __tablename__ = "experience_images"
    experience_id = Column(Integer, primary_key=True)
    position = Column(Integer, primary_key=True)
    image_key = Column(Text, nullable=False)
    small_url = Column(Text, nullable=True)
    medium_url = Column(Text, nullable=True)
    large_url = Column(Text, nullable=True)
    extra_large_url = Column(Text, nullable=True)
    alt_text = Column(Text, nullable=True)
    credit = Column(Text, nullable=True)
    verified_at = Column(Integer, nullable=False)
    expires_at = Column(Integer, nullable=False)
    document = Column(Text, nullable=False)


class Cities(Base):
    __tablename__ = "cities"
    city_id = Column(Integer, primary_key=True)
    language = Column(Text, primary_key=True)
    name = Column(Text, nullable=True)
    slug = Column(Text, nullable=False)
    country_id = Column(Integer, nullable=True)
    products = Column(Integer, nullable=False)
    sellable_products = Column(Integer, nullable=False)


class Countries(Base):
    __tablename__ = "countries"
    country_id = Column(Integer, primary_key=True)
    language = Column(Text, primary_key=True)
    name = Column(Text, nullable=True)
    products = Column(Integer, nullable=False)
    sellable_products = Column(Integer, nullable=False)


class WithdrawnProducts(Base):
    __tablename__ = "withdrawn_products"
    product_id = Column(Integer, primary_key=True)
    title = Column(Text, nullable=True)
    slug = Column(Text, nullable=True)
    city_id = Column(Integer, nullable=True)
    city_name = Column(Text, nullable=True)
    successor_product_id = Column(Integer, nullable=True)
    withdrawn_at = Column(Integer, nullable=False)
    reason = Column(Text, nullable=True)


class Alternatives(Base):
    __tablename__ = "alternatives"
    product_id = Column(Integer, primary_key=True)
    alternative_product_id = Column(Integer, primary_key=True)


class CheckoutInformation(Base):
    __tablename__ = "checkout_information"
    product_id = Column(Integer, primary_key=True)
    language = Column(Text, primary_key=True)
    language_shown = Column(Text, nullable=False)
    has_timeslots = Column(Integer, nullable=True)
    has_dynamic_pricing = Column(Integer, nullable=True)
    must_know = Column(Text, nullable=True)
    good_to_know = Column(Text, nullable=True)
    pre_purchase = Column(Text, nullable=True)
    usage = Column(Text, nullable=True)
    included = Column(Text, nullable=True)
    excluded = Column(Text, nullable=True)
    post_purchase = Column(Text, nullable=True)
    document = Column(Text, nullable=False)
    checked_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)


class Variants(Base):
    __tablename__ = "variants"
    product_id = Column(Integer, primary_key=True)
    language = Column(Text, primary_key=True)
    language_shown = Column(Text, nullable=False)
    variant_id = Column(Integer, primary_key=True)
    label = Column(Text, nullable=True)
    variant_type = Column(Text, nullable=True)
    description = Column(Text, nullable=True)
    cancellation_policy = Column(Text, nullable=True)
    cancellation_window = Column(Integer, nullable=True)
    source = Column(Text, nullable=False)
    valid_with = Column(Text, nullable=True)
    visitors_details = Column(Text, nullable=True)
    languages = Column(Text, nullable=True)
    group_ids = Column(Text, nullable=True)
    group_names = Column(Text, nullable=True)
    document = Column(Text, nullable=False)
    checked_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)


class Images(Base):
    __tablename__ = "images"
    product_id = Column(Integer, primary_key=True)
    position = Column(Integer, primary_key=True)
    image_key = Column(Text, nullable=False)
    small_url = Column(Text, nullable=True)
    medium_url = Column(Text, nullable=True)
    large_url = Column(Text, nullable=True)
    extra_large_url = Column(Text, nullable=True)
    alt_text = Column(Text, nullable=True)
    credit = Column(Text, nullable=True)
    file = Column(Text, nullable=True)
    verified_at = Column(Integer, nullable=False)
    expires_at = Column(Integer, nullable=False)
    document = Column(Text, nullable=False)


class AvailabilityDays(Base):
    __tablename__ = "availability_days"
    product_id = Column(Integer, primary_key=True)
    date = Column(Text, primary_key=True)
    currency = Column(Text, primary_key=True)
    state = Column(Text, nullable=False)
    lowest_price = Column(Integer, nullable=True)
    lowest_adult_price = Column(Integer, nullable=True)
    price_variant_type = Column(Text, nullable=True)
    max_tickets = Column(Integer, nullable=True)
    availability = Column(Integer, nullable=True)
    max_tickets_per_order = Column(Integer, nullable=True)
    checked_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)


class AvailabilitySlots(Base):
    __tablename__ = "availability_slots"
    product_id = Column(Integer, primary_key=True)
    date = Column(Text, primary_key=True)
    currency = Column(Text, primary_key=True)
    time = Column(Text, primary_key=True)
    variant_id = Column(Integer, primary_key=True)
    availability = Column(Integer, nullable=True)
    max_tickets = Column(Integer, nullable=True)
    retail_price = Column(Integer, nullable=True)
    ticket_value = Column(Integer, nullable=True)
    booking_fee = Column(Integer, nullable=True)
    commission = Column(Integer, nullable=True)
    pricing_restriction = Column(Integer, nullable=True)
    checked_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)


class BookableDays(Base):
    __tablename__ = "bookable_days"
    product_id = Column(Integer, primary_key=True)
    date = Column(Text, primary_key=True)
    currency = Column(Text, primary_key=True)
    lowest_price = Column(Integer, nullable=True)
    lowest_adult_price = Column(Integer, nullable=True)
    price_variant_type = Column(Text, nullable=True)
    max_tickets = Column(Integer, nullable=True)
    checked_at = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired_at = Column(Integer, nullable=False)
    freshness = Column(Text, nullable=False)


class Languages(Base):
    __tablename__ = "languages"
    language = Column(Text, primary_key=True)
    is_primary = Column(Integer, nullable=False)


class Currencies(Base):
    __tablename__ = "currencies"
    currency = Column(Text, primary_key=True)
    is_primary = Column(Integer, nullable=False)
    exponent = Column(Integer, nullable=False)


class Changes(Base):
    __tablename__ = "changes"
    seq = Column(Integer, primary_key=True)
    at = Column(Integer, nullable=False)
    product_id = Column(Integer, nullable=False)
    kind = Column(Text, nullable=False)
    language = Column(Text, nullable=True)
    date = Column(Text, nullable=True)
    detail = Column(Text, nullable=False)


class Policies(Base):
    __tablename__ = "policies"
    resource = Column(Text, primary_key=True)
    state = Column(Text, primary_key=True)
    action = Column(Text, nullable=False)
    expires_after = Column(Integer, nullable=True)
    reason = Column(Text, nullable=False)


class Freshness(Base):
    __tablename__ = "freshness"
    resource = Column(Text, primary_key=True)
    tier = Column(Text, primary_key=True)
    records = Column(Integer, nullable=False)
    fresh = Column(Integer, nullable=False)
    stale = Column(Integer, nullable=False)
    expired = Column(Integer, nullable=False)
    oldest_checked_at = Column(Integer, nullable=False)
    target_ms = Column(Integer, nullable=False)
    met = Column(Integer, nullable=False)


class Subscriptions(Base):
    __tablename__ = "subscriptions"
    subscription_id = Column(Text, primary_key=True)
    type = Column(Text, nullable=False)
    status = Column(Text, nullable=True)
    covered_products = Column(Integer, nullable=True)
    last_delivery_at = Column(Integer, nullable=True)
    trust = Column(Float, nullable=True)


class AvailabilityErrorRate(Base):
    __tablename__ = "availability_error_rate"
    product_id = Column(Integer, primary_key=True)
    tier = Column(Text, primary_key=True)
    checks = Column(Integer, nullable=False)
    wrong = Column(Integer, nullable=False)
    orders = Column(Integer, nullable=False)
    orders_wrong = Column(Integer, nullable=False)
    rate = Column(Float, nullable=True)
    said_available = Column(Integer, nullable=False)
    said_sold_out = Column(Integer, nullable=False)
    said_price = Column(Integer, nullable=False)
    tickets = Column(Integer, nullable=False)
    unknown = Column(Integer, nullable=False)
    unanswered = Column(Integer, nullable=False)
    since_at = Column(Integer, nullable=False)


class MirrorInfo(Base):
    __tablename__ = "mirror_info"
    contract_version = Column(Integer, nullable=False)
    schema_version = Column(Integer, nullable=False)
    written_by = Column(Text, nullable=False)
    feed_floor_seq = Column(Integer, nullable=False)
    filled_at = Column(Integer, nullable=True)
    feed_id = Column(Text, primary_key=True)
    published_at = Column(Integer, nullable=True)
