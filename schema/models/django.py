# Made from schema/contract.json, contract 2: what each column means stands there.
# Django 5.2 or newer: DATABASES["mirror"] = {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:data/mirror.db?mode=ro", "OPTIONS": {"uri": True}}
from django.db import models


class Products(models.Model):
    pk = models.CompositePrimaryKey("product_id", "language")
    product_id = models.BigIntegerField()
    language = models.TextField()
    language_shown = models.TextField()
    title = models.TextField(null=True)
    tagline = models.TextField(null=True)
    sale_status = models.TextField()
    sellable = models.BigIntegerField()
    disabled_reason = models.TextField(null=True)
    disabled_source = models.TextField(null=True)
    expected_reopening = models.TextField(null=True)
    alternative_product_id = models.BigIntegerField(null=True)
    from_price = models.BigIntegerField(null=True)
    lowest_price = models.BigIntegerField(null=True)
    lowest_adult_price = models.BigIntegerField(null=True)
    price_variant_type = models.TextField(null=True)
    currency = models.TextField()
    city_id = models.BigIntegerField(null=True)
    city_name = models.TextField(null=True)
    city_slug = models.TextField(null=True)
    country_id = models.BigIntegerField(null=True)
    country_name = models.TextField(null=True)
    venue_id = models.BigIntegerField(null=True)
    latitude = models.FloatField(null=True)
    longitude = models.FloatField(null=True)
    timezone = models.TextField(null=True)
    rating = models.FloatField(null=True)
    rating_count = models.BigIntegerField(null=True)
    prediscount_price = models.BigIntegerField(null=True)
    slug = models.TextField(null=True)
    url = models.TextField(null=True)
    summary = models.TextField(null=True)
    description = models.TextField(null=True)
    highlights = models.TextField(null=True)
    whats_included = models.TextField(null=True)
    whats_excluded = models.TextField(null=True)
    marketing_restrictions = models.TextField(null=True)
    promo_label = models.TextField(null=True)
    discount_percentage = models.FloatField(null=True)
    skip_line = models.BigIntegerField(null=True)
    smartphone_ticket = models.BigIntegerField(null=True)
    instant_ticket_delivery = models.BigIntegerField(null=True)
    duration = models.TextField(null=True)
    duration_minutes = models.BigIntegerField(null=True)
    advance_arrival_minutes = models.BigIntegerField(null=True)
    last_admission_minutes = models.BigIntegerField(null=True)
    starting_point_address = models.TextField(null=True)
    starting_point_label = models.TextField(null=True)
    starting_point_city_id = models.BigIntegerField(null=True)
    starting_point_latitude = models.FloatField(null=True)
    starting_point_longitude = models.FloatField(null=True)
    languages = models.TextField(null=True)
    live_guide_languages = models.TextField(null=True)
    audio_guide_languages = models.TextField(null=True)
    cancellation_policy = models.TextField(null=True)
    cancellation_window = models.BigIntegerField(null=True)
    supplier = models.TextField(null=True)
    venue_name = models.TextField(null=True)
    venue_address = models.TextField(null=True)
    venue_today = models.TextField(null=True)
    wheelchair_access = models.BigIntegerField(null=True)
    is_package = models.BigIntegerField(null=True)
    package_products = models.TextField(null=True)
    in_packages = models.TextField(null=True)
    document = models.TextField()
    checked_at = models.BigIntegerField()
    changed_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()
    detail_freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "products"


class ProductPrices(models.Model):
    pk = models.CompositePrimaryKey("product_id", "currency")
    product_id = models.BigIntegerField()
    currency = models.TextField()
    from_price = models.BigIntegerField(null=True)
    lowest_price = models.BigIntegerField(null=True)
    lowest_adult_price = models.BigIntegerField(null=True)
    price_variant_type = models.TextField(null=True)
    prediscount_price = models.BigIntegerField(null=True)
    checked_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "product_prices"


class ProductTags(models.Model):
    pk = models.CompositePrimaryKey("product_id", "tag_id")
    product_id = models.BigIntegerField()
    tag_id = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "product_tags"


class Tags(models.Model):
    pk = models.CompositePrimaryKey("tag_id", "language")
    tag_id = models.BigIntegerField()
    language = models.TextField()
    language_shown = models.TextField()
    name = models.TextField(null=True)
    type_name = models.TextField(null=True)
    type_group_name = models.TextField(null=True)
    document = models.TextField()
    checked_at = models.BigIntegerField()
    changed_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "tags"


class ProductExperiences(models.Model):
    pk = models.CompositePrimaryKey("product_id", "experience_id")
    product_id = models.BigIntegerField()
    experience_id = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "product_experiences"


class Experiences(models.Model):
    pk = models.CompositePrimaryKey("experience_id", "language")
    experience_id = models.BigIntegerField()
    language = models.TextField()
    language_shown = models.TextField()
    title = models.TextField(null=True)
    slug = models.TextField()
    tagline = models.TextField(null=True)
    description = models.TextField(null=True)
    url = models.TextField(null=True)
    address = models.TextField(null=True)
    city_id = models.BigIntegerField(null=True)
    city_name = models.TextField(null=True)
    country_id = models.BigIntegerField(null=True)
    country_name = models.TextField(null=True)
    latitude = models.FloatField(null=True)
    longitude = models.FloatField(null=True)
    rating = models.FloatField(null=True)
    rating_count = models.BigIntegerField(null=True)
    from_price = models.BigIntegerField(null=True)
    currency = models.TextField()
    products = models.BigIntegerField()
    sellable_products = models.BigIntegerField()
    document = models.TextField()
    checked_at = models.BigIntegerField()
    changed_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "experiences"


class ExperienceImages(models.Model):
    pk = models.CompositePrimaryKey("experience_id", "position")
    experience_id = models.BigIntegerField()
    position = models.BigIntegerField()
    image_key = models.TextField()
    small_url = models.TextField(null=True)
    medium_url = models.TextField(null=True)
    large_url = models.TextField(null=True)
    extra_large_url = models.TextField(null=True)
    alt_text = models.TextField(null=True)
    credit = models.TextField(null=True)
    verified_at = models.BigIntegerField()
    expires_at = models.BigIntegerField()
    document = models.TextField()

    class Meta:
        managed = False
        db_table = "experience_images"


class Cities(models.Model):
    pk = models.CompositePrimaryKey("city_id", "language")
    city_id = models.BigIntegerField()
    language = models.TextField()
    name = models.TextField(null=True)
    slug = models.TextField()
    country_id = models.BigIntegerField(null=True)
    products = models.BigIntegerField()
    sellable_products = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "cities"


class Countries(models.Model):
    pk = models.CompositePrimaryKey("country_id", "language")
    country_id = models.BigIntegerField()
    language = models.TextField()
    name = models.TextField(null=True)
    products = models.BigIntegerField()
    sellable_products = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "countries"


class WithdrawnProducts(models.Model):
    product_id = models.BigIntegerField(primary_key=True)
    title = models.TextField(null=True)
    slug = models.TextField(null=True)
    city_id = models.BigIntegerField(null=True)
    city_name = models.TextField(null=True)
    successor_product_id = models.BigIntegerField(null=True)
    withdrawn_at = models.BigIntegerField()
    reason = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = "withdrawn_products"


class Alternatives(models.Model):
    pk = models.CompositePrimaryKey("product_id", "alternative_product_id")
    product_id = models.BigIntegerField()
    alternative_product_id = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "alternatives"


class CheckoutInformation(models.Model):
    pk = models.CompositePrimaryKey("product_id", "language")
    product_id = models.BigIntegerField()
    language = models.TextField()
    language_shown = models.TextField()
    has_timeslots = models.BigIntegerField(null=True)
    has_dynamic_pricing = models.BigIntegerField(null=True)
    must_know = models.TextField(null=True)
    good_to_know = models.TextField(null=True)
    pre_purchase = models.TextField(null=True)
    usage = models.TextField(null=True)
    included = models.TextField(null=True)
    excluded = models.TextField(null=True)
    post_purchase = models.TextField(null=True)
    document = models.TextField()
    checked_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "checkout_information"


class Variants(models.Model):
    pk = models.CompositePrimaryKey("product_id", "language", "variant_id")
    product_id = models.BigIntegerField()
    language = models.TextField()
    language_shown = models.TextField()
    variant_id = models.BigIntegerField()
    label = models.TextField(null=True)
    variant_type = models.TextField(null=True)
    description = models.TextField(null=True)
    cancellation_policy = models.TextField(null=True)
    cancellation_window = models.BigIntegerField(null=True)
    source = models.TextField()
    valid_with = models.TextField(null=True)
    visitors_details = models.TextField(null=True)
    languages = models.TextField(null=True)
    group_ids = models.TextField(null=True)
    group_names = models.TextField(null=True)
    document = models.TextField()
    checked_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "variants"


class Images(models.Model):
    pk = models.CompositePrimaryKey("product_id", "position")
    product_id = models.BigIntegerField()
    position = models.BigIntegerField()
    image_key = models.TextField()
    small_url = models.TextField(null=True)
    medium_url = models.TextField(null=True)
    large_url = models.TextField(null=True)
    extra_large_url = models.TextField(null=True)
    alt_text = models.TextField(null=True)
    credit = models.TextField(null=True)
    file = models.TextField(null=True)
    verified_at = models.BigIntegerField()
    expires_at = models.BigIntegerField()
    document = models.TextField()

    class Meta:
        managed = False
        db_table = "images"


class AvailabilityDays(models.Model):
    pk = models.CompositePrimaryKey("product_id", "date", "currency")
    product_id = models.BigIntegerField()
    date = models.TextField()
    currency = models.TextField()
    state = models.TextField()
    lowest_price = models.BigIntegerField(null=True)
    lowest_adult_price = models.BigIntegerField(null=True)
    price_variant_type = models.TextField(null=True)
    max_tickets = models.BigIntegerField(null=True)
    availability = models.BigIntegerField(null=True)
    max_tickets_per_order = models.BigIntegerField(null=True)
    checked_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "availability_days"


class AvailabilitySlots(models.Model):
    pk = models.CompositePrimaryKey("product_id", "date", "currency", "time", "variant_id")
    product_id = models.BigIntegerField()
    date = models.TextField()
    currency = models.TextField()
    time = models.TextField()
    variant_id = models.BigIntegerField()
    availability = models.BigIntegerField(null=True)
    max_tickets = models.BigIntegerField(null=True)
    retail_price = models.BigIntegerField(null=True)
    ticket_value = models.BigIntegerField(null=True)
    booking_fee = models.BigIntegerField(null=True)
    commission = models.BigIntegerField(null=True)
    pricing_restriction = models.BigIntegerField(null=True)
    checked_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "availability_slots"


class BookableDays(models.Model):
    pk = models.CompositePrimaryKey("product_id", "date", "currency")
    product_id = models.BigIntegerField()
    date = models.TextField()
    currency = models.TextField()
    lowest_price = models.BigIntegerField(null=True)
    lowest_adult_price = models.BigIntegerField(null=True)
    price_variant_type = models.TextField(null=True)
    max_tickets = models.BigIntegerField(null=True)
    checked_at = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired_at = models.BigIntegerField()
    freshness = models.TextField()

    class Meta:
        managed = False
        db_table = "bookable_days"


class Languages(models.Model):
    language = models.TextField(primary_key=True)
    is_primary = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "languages"


class Currencies(models.Model):
    currency = models.TextField(primary_key=True)
    is_primary = models.BigIntegerField()
    exponent = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "currencies"


class Changes(models.Model):
    seq = models.BigIntegerField(primary_key=True)
    at = models.BigIntegerField()
    product_id = models.BigIntegerField()
    kind = models.TextField()
    language = models.TextField(null=True)
    date = models.TextField(null=True)
    detail = models.TextField()

    class Meta:
        managed = False
        db_table = "changes"


class Policies(models.Model):
    pk = models.CompositePrimaryKey("resource", "state")
    resource = models.TextField()
    state = models.TextField()
    action = models.TextField()
    expires_after = models.BigIntegerField(null=True)
    reason = models.TextField()

    class Meta:
        managed = False
        db_table = "policies"


class Freshness(models.Model):
    pk = models.CompositePrimaryKey("resource", "tier")
    resource = models.TextField()
    tier = models.TextField()
    records = models.BigIntegerField()
    fresh = models.BigIntegerField()
    stale = models.BigIntegerField()
    expired = models.BigIntegerField()
    oldest_checked_at = models.BigIntegerField()
    target_ms = models.BigIntegerField()
    met = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "freshness"


class Subscriptions(models.Model):
    subscription_id = models.TextField(primary_key=True)
    type = models.TextField()
    status = models.TextField(null=True)
    covered_products = models.BigIntegerField(null=True)
    last_delivery_at = models.BigIntegerField(null=True)
    trust = models.FloatField(null=True)

    class Meta:
        managed = False
        db_table = "subscriptions"


class AvailabilityErrorRate(models.Model):
    pk = models.CompositePrimaryKey("product_id", "tier")
    product_id = models.BigIntegerField()
    tier = models.TextField()
    checks = models.BigIntegerField()
    wrong = models.BigIntegerField()
    orders = models.BigIntegerField()
    orders_wrong = models.BigIntegerField()
    rate = models.FloatField(null=True)
    said_available = models.BigIntegerField()
    said_sold_out = models.BigIntegerField()
    said_price = models.BigIntegerField()
    tickets = models.BigIntegerField()
    unknown = models.BigIntegerField()
    unanswered = models.BigIntegerField()
    since_at = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "availability_error_rate"


class MirrorInfo(models.Model):
    contract_version = models.BigIntegerField()
    schema_version = models.BigIntegerField()
    written_by = models.TextField()
    feed_floor_seq = models.BigIntegerField()
    filled_at = models.BigIntegerField(null=True)
    feed_id = models.TextField(primary_key=True)
    published_at = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "mirror_info"
