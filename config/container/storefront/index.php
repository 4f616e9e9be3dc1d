<?php
// A storefront in fifteen lines, to be replaced by yours: it reads the mirror that it shares with catalogued.
$file = '/data/mirror.db';
$mirror = new PDO("sqlite:$file", options: [
    PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY, PDO::ATTR_TIMEOUT => 2,
    PDO::ATTR_PERSISTENT => 'inode ' . @fileinode($file), // stays open between requests; a replaced file is opened anew
]);
$products = $mirror->query("SELECT product_id, title, lowest_adult_price, currency FROM products WHERE language = 'en' AND sellable LIMIT 20");
header('Content-Type: text/plain; charset=utf-8');
foreach ($products as $product) {
    printf("%s  %s  %s %s\n", $product['product_id'], $product['title'], $product['lowest_adult_price'], $product['currency']);
}
