<?php
// Reading the mirror: open read-only, wait a little where it is busy, try once more, see one state in a page.

const LANGUAGE = 'en';
const CURRENCY = 'EUR';

function mirror(string $open = 'once'): SQLite3
{
    static $db = null;
    if ($db === null || $open === 'again') {
        $db = new SQLite3(getenv('MIRROR'), SQLITE3_OPEN_READONLY);
        $db->enableExceptions(true);
        $db->busyTimeout(2000);
    }
    return $db;
}

/** A page from one state of the mirror: several questions are one read transaction. What fails once is tried once more. */
function together(callable $page, int $tries = 2): void
{
    ob_start();
    try {
        mirror()->exec('BEGIN');
        $page();
        mirror()->exec('COMMIT');
        ob_end_flush();
    } catch (Exception $error) {
        ob_end_clean();
        mirror()->close();
        mirror('again');
        if ($tries === 1) {
            throw $error;
        }
        together($page, $tries - 1);
    }
}

/** All rows of a prepared statement; `:names` are bound from the array. */
function rows(string $sql, array $values = []): array
{
    $statement = mirror()->prepare($sql);
    foreach ($values + ['language' => LANGUAGE, 'currency' => CURRENCY] as $name => $value) {
        $statement->bindValue(":$name", $value);
    }
    $rows = [];
    for ($found = $statement->execute(); $row = $found->fetchArray(SQLITE3_ASSOC);) {
        $rows[] = $row;
    }
    return $rows;
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

function product(int $id): ?array
{
    return rows('SELECT * FROM products WHERE product_id = :id AND language = :language', ['id' => $id])[0] ?? null;
}

/** By date, from the first to the last; a date that was never read is not in it. */
function calendar(int $id, string $from, string $to): array
{
    $days = rows('SELECT date, state, lowest_price, freshness, checked_at FROM availability_days
        WHERE product_id = :id AND currency = :currency AND date BETWEEN :from AND :to', ['id' => $id, 'from' => $from, 'to' => $to]);
    return array_column($days, null, 'date');
}

function slots(int $id, string $date): array
{
    return rows('SELECT s.time, s.variant_id, v.label, s.retail_price, min(s.availability, s.max_tickets, 9) AS most
        FROM availability_slots s
        LEFT JOIN variants v ON v.product_id = s.product_id AND v.variant_id = s.variant_id AND v.language = :language
        WHERE s.product_id = :id AND s.currency = :currency AND s.date = :date AND s.availability > 0 AND s.max_tickets > 0
        ORDER BY s.time, s.retail_price DESC', ['id' => $id, 'date' => $date]);
}

/** What the service recommends instead of a closed product, while that is itself on sale. */
function recommended(int $id): array
{
    return rows('SELECT p.product_id, p.title FROM alternatives a JOIN products p ON p.product_id = a.alternative_product_id
        WHERE a.product_id = :id AND p.language = :language', ['id' => $id]);
}

/** What people type is words, never syntax: each quoted, the last one perhaps unfinished. Null: there is no word in it. */
function words(string $text): ?string
{
    preg_match_all('/[\p{L}\p{N}\p{M}]+/u', $text, $found);
    return empty($found[0]) ? null : '"' . implode('" "', array_slice($found[0], 0, 12)) . '"*';
}

/**
 * Products by words, near a place (`near` = [latitude, longitude, km]), with tickets on a date, for at most a price; what
 * was not asked for is null. With a date the cheapest come first, else the nearest, the best match, what is on sale.
 */
function search(?string $words, ?array $near, ?string $date, ?int $most): array
{
    [$price, $order, $distance] = ['p.from_price', 'p.sellable DESC, p.title', 'NULL'];
    [$joins, $where, $values] = ['', 'p.language = :language', []];
    if ($words !== null) {
        $joins .= ' JOIN product_search s ON s.product_id = p.product_id AND s.language = p.language AND s.product_search MATCH :words';
        $values['words'] = $words;
        $order = 'p.sellable DESC, s.rank';
    }
    if ($near !== null) {
        [$latitude, $longitude, $km] = $near;
        [$a, $o] = [deg2rad($latitude), deg2rad($longitude)];
        // The square of the straight line through the globe: no distance is lost at the date line or the poles.
        $distance = '((g.x - :x) * (g.x - :x) + (g.y - :y) * (g.y - :y) + (g.z - :z) * (g.z - :z))';
        $joins .= ' JOIN product_places g ON g.product_id = p.product_id AND g.min_latitude >= :south AND g.max_latitude <= :north';
        $where .= " AND $distance <= :chord";
        $values += ['x' => cos($a) * cos($o), 'y' => cos($a) * sin($o), 'z' => sin($a), 'chord' => (2 * sin(min($km / 6371.0, M_PI) / 2)) ** 2,
            'south' => $latitude - rad2deg($km / 6371.0) - 0.001, 'north' => $latitude + rad2deg($km / 6371.0) + 0.001];
        $order = $distance;
    }
    if ($date !== null) {
        $joins .= " JOIN bookable_days b ON b.product_id = p.product_id AND b.currency = :currency AND b.date = :date AND b.freshness <> 'expired'";
        $values['date'] = $date;
        [$price, $order] = ['b.lowest_price', 'b.lowest_price'];
    }
    if ($most !== null) {
        $where .= " AND $price <= :most AND p.sellable";
        $values['most'] = $most;
    }
    $hits = rows("SELECT p.product_id, p.title, p.city_name, p.sellable, p.freshness, $price AS price, $distance AS chord
        FROM products p$joins WHERE $where ORDER BY $order LIMIT 30", $values);
    return array_map(fn (array $hit) => $hit + ['km' => $near === null ? null : 2 * 6371.0 * asin(sqrt($hit['chord']) / 2)], $hits);
}
