<?php
// Reads the slots of a product as a storefront would: read-only, nothing but what PHP brings.
[, $file, $product] = $argv;
$db = new SQLite3($file, SQLITE3_OPEN_READONLY);
$db->busyTimeout(2000);
$query = $db->prepare(<<<'SQL'
    SELECT date, time, variant_id, availability, max_tickets, retail_price, booking_fee, stale
    FROM availability_slots WHERE product_id = :product AND currency = 'EUR' ORDER BY date, time, variant_id
    SQL);
$query->bindValue(':product', (int) $product, SQLITE3_INTEGER);
$rows = $query->execute();
while ($row = $rows->fetchArray(SQLITE3_NUM)) {
    echo implode('|', $row), "\n";
}
