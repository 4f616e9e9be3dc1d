<?php
// Reads the slots of a product as a storefront would: read-only, nothing but what PHP brings.
[, $file, $product] = $argv;
$db = new PDO("sqlite:$file", options: [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY, PDO::ATTR_TIMEOUT => 2]);
$query = $db->prepare(<<<'SQL'
    SELECT date, time, variant_id, availability, max_tickets, retail_price, booking_fee, stale
    FROM availability_slots WHERE product_id = ? AND currency = 'EUR' ORDER BY date, time, variant_id
    SQL);
$query->execute([$product]);
while ($row = $query->fetch(PDO::FETCH_NUM)) {
    echo implode('|', $row), "\n";
}
