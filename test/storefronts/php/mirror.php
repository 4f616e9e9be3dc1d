<?php
// Reading the mirror: open read-only and kept open, wait a little where it is busy, try once more, see one state in a page.

const LANGUAGE = 'en';
const CURRENCY = 'EUR';
const EARTH_KM = 6371.0;

/** Returns what is read from one state of the mirror, in one transaction. What fails is read once more, on a connection of its own. */
function together(callable $read): mixed
{
    try {
        return in_one_state($read, kept: true);
    } catch (Exception) {
        return in_one_state($read, kept: false);
    }
}

/** Never by exec('BEGIN'): PHP ends the transactions that it knows where a script dies, and the connection outlives the script. */
function in_one_state(callable $read, bool $kept): mixed
{
    mirror($kept)->beginTransaction();
    try {
        return $read();
    } finally {
        mirror()->rollBack();
    }
}

/** Opens the mirror, `kept` for later requests too, or returns what is open. PHP keeps connections by name: a replaced file has another inode. */
function mirror(?bool $kept = null): PDO
{
    static $db = null;
    if ($kept !== null) {
        $file = getenv('MIRROR');
        $db = new PDO("sqlite:$file", options: [
            PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY,
            PDO::ATTR_TIMEOUT => 2,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
            PDO::ATTR_PERSISTENT => $kept ? 'inode ' . @fileinode($file) : false,
        ]);
    }
    return $db;
}

/** All rows of a prepared statement; `:names` are bound from the array. */
function rows(string $sql, array $values = []): array
{
    $statement = mirror()->prepare($sql);
    foreach ($values + ['language' => LANGUAGE, 'currency' => CURRENCY] as $name => $value) {
        if (preg_match("/:$name\\b/", $sql)) {
            $statement->bindValue(":$name", $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
        }
    }
    $statement->execute();
    return $statement->fetchAll();
}

/** What the mirror advises to do with a row in this state: show, show_as_from, check_first or hide. */
function policy(string $resource, ?string $state): string
{
    static $actions = [];
    foreach ($actions ? [] : rows('SELECT resource, state, action FROM policies') as $row) {
        $actions[$row['resource']][$row['state']] = $row['action'];
    }
    return $actions[$resource][$state ?? 'unknown'];
}

/** How many decimals the currency has: the tables of many runtimes are wrong. */
function decimals(): int
{
    static $known = null;
    return $known ??= rows('SELECT exponent FROM currencies WHERE currency = :currency')[0]['exponent'];
}

function product(int $id): ?array
{
    return rows('SELECT p.*, ' . printed('p') . ' FROM products p WHERE p.product_id = :id AND p.language = :language', ['id' => $id])[0] ?? null;
}

function withdrawn(int $id): ?array
{
    return rows('SELECT w.title, w.successor_product_id AS successor, p.title AS successor_title FROM withdrawn_products w
        LEFT JOIN products p ON p.product_id = w.successor_product_id AND p.language = :language WHERE w.product_id = :id', ['id' => $id])[0] ?? null;
}

/** What a shopper calls a ticket: the title of its product, and its own name; each may be null. */
function names(int $id, int $variant): array
{
    $own = rows('SELECT label FROM variants WHERE product_id = :id AND variant_id = :variant AND language = :language',
        ['id' => $id, 'variant' => $variant])[0] ?? null;
    return ['title' => (product($id) ?? withdrawn($id))['title'] ?? null, 'ticket' => $own['label'] ?? null];
}

function images(int $id): array
{
    return rows('SELECT large_url, alt_text, credit FROM images WHERE product_id = :id ORDER BY position', ['id' => $id]);
}

function must_know(int $id): ?string
{
    return rows('SELECT must_know FROM checkout_information WHERE product_id = :id AND language = :language', ['id' => $id])[0]['must_know'] ?? null;
}

/**
 * What a shop prints of a product, as two columns: what an adult pays at least, or, where no adult can buy, whose price it is. Where
 * no date has a price, what the service says.
 */
function printed(string $product): string
{
    $of = fn (string $column) => "(SELECT $column FROM product_prices c WHERE c.product_id = $product.product_id AND c.currency = :currency)";
    return $of('COALESCE(c.lowest_adult_price, c.from_price)') . ' AS price, ' . $of('c.price_variant_type') . ' AS price_of';
}

/** By date, from the first to the last; a date that was never read is not in it. */
function calendar(int $id, string $first, string $last): array
{
    $days = rows('SELECT date, state, lowest_adult_price AS price, price_variant_type AS price_of, freshness FROM availability_days
        WHERE product_id = :id AND currency = :currency AND date BETWEEN :first AND :last', ['id' => $id, 'first' => $first, 'last' => $last]);
    return array_column($days, null, 'date');
}

/** What can be put into an order, as far as the mirror may still be believed. */
function slots(int $id, string $date): array
{
    return rows("SELECT s.time, s.variant_id, v.label, s.retail_price, min(COALESCE(s.availability, 9), COALESCE(s.max_tickets, 9), 9) AS most
        FROM availability_slots s
        LEFT JOIN variants v ON v.product_id = s.product_id AND v.variant_id = s.variant_id AND v.language = :language
        WHERE s.product_id = :id AND s.currency = :currency AND s.date = :date AND s.freshness <> 'expired'
        AND most > 0 AND s.retail_price >= 0
        ORDER BY s.time, v.variant_type IS NOT 'adult', s.retail_price DESC", ['id' => $id, 'date' => $date]);
}

/** What the service recommends instead of a closed product, while that is itself on sale. */
function recommended(int $id): array
{
    return rows('SELECT p.product_id, p.title FROM alternatives a JOIN products p ON p.product_id = a.alternative_product_id
        WHERE a.product_id = :id AND p.language = :language', ['id' => $id]);
}

/**
 * Products by words (`text`), near a place, with tickets on a date, for at most a price; what was not asked for is
 * null. With a date the cheapest come first, else the nearest, the best match, what is on sale.
 */
function search(array $filters): array
{
    [$price, $order, $distance] = [printed('p'), 'p.sellable DESC, p.title', 'NULL'];
    [$joins, $where, $values] = ['', 'p.language = :language', []];
    if ($filters['text'] !== null) {
        // What a shopper means, typos and all, the best first.
        $found = rows(file_get_contents(getenv('SEARCH_SQL') ?: __DIR__ . '/../../../schema/search.sql'), ['text' => $filters['text'], 'limit' => 500, 'offset' => 0]);
        $joins .= ' JOIN json_each(:found) f ON f.value = p.product_id';
        $values['found'] = json_encode(array_column($found, 'product_id'));
        $order = 'f.key';
    }
    if ($filters['near'] !== null) {
        // The square of the straight line through the globe: no distance is lost at the date line or the poles.
        $distance = '((g.x - :x) * (g.x - :x) + (g.y - :y) * (g.y - :y) + (g.z - :z) * (g.z - :z))';
        $joins .= ' JOIN product_places g ON g.product_id = p.product_id AND g.min_latitude >= CAST(:south AS REAL) AND g.max_latitude <= CAST(:north AS REAL)';
        $where .= " AND $distance <= CAST(:chord AS REAL)";
        [$latitude, $longitude] = array_map('deg2rad', $filters['near']);
        $angle = min(($filters['km'] ?? 5.0) / EARTH_KM, M_PI);
        $values += ['x' => cos($latitude) * cos($longitude), 'y' => cos($latitude) * sin($longitude), 'z' => sin($latitude), 'chord' => (2 * sin($angle / 2)) ** 2,
            'south' => rad2deg($latitude - $angle) - 0.001, 'north' => rad2deg($latitude + $angle) + 0.001];
        $order = $distance;
    }
    if ($filters['date'] !== null) {
        $joins .= " JOIN bookable_days b ON b.product_id = p.product_id AND b.currency = :currency AND b.date = :date AND b.freshness <> 'expired'";
        $values['date'] = $filters['date'];
        $price = 'b.lowest_adult_price AS price, b.price_variant_type AS price_of';
        $order = 'price IS NULL, price';
    }
    if ($filters['most'] !== null) {
        $where .= ' AND price <= :most AND p.sellable';
        $values['most'] = $filters['most'];
    }
    $hits = rows("SELECT p.product_id, p.title, p.city_name, p.sellable, p.freshness, $price, $distance AS chord
        FROM products p$joins WHERE $where ORDER BY $order LIMIT 30", $values);
    return array_map(fn (array $hit) => $hit + ['km' => $hit['chord'] === null ? null : 2 * EARTH_KM * asin(sqrt($hit['chord']) / 2)], $hits);
}
