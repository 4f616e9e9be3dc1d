<?php
// A storefront in ten lines, to be replaced by yours: it reads the mirror that it shares with catalogued.
$mirror = new PDO('sqlite:/data/mirror.db', null, null, [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY]);
$mirror->exec('PRAGMA busy_timeout = 2000');
$products = $mirror->query("SELECT product_id, title, from_price, currency FROM products WHERE language = 'en' AND sellable LIMIT 20");
header('Content-Type: text/plain; charset=utf-8');
foreach ($products as $product) {
    printf("%s  %s  %s %s\n", $product['product_id'], $product['title'], $product['from_price'], $product['currency']);
}
