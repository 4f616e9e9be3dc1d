<?php
// Prints the images of a product, each with its credit, as a page would: nothing that the service sent is markup.
[, $file, $product] = $argv;
$db = new SQLite3($file, SQLITE3_OPEN_READONLY);
$db->busyTimeout(2000);
$query = $db->prepare('SELECT large_url, alt_text, credit FROM images WHERE product_id = :product ORDER BY position');
$query->bindValue(':product', (int) $product, SQLITE3_INTEGER);
$e = fn (?string $text): string => htmlspecialchars($text ?? '', ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
for ($rows = $query->execute(); $image = $rows->fetchArray(SQLITE3_ASSOC);) {
    $credit = $image['credit'] === null ? '' : "<figcaption>{$e($image['credit'])}</figcaption>";
    echo "<figure><img src=\"{$e($image['large_url'])}\" alt=\"{$e($image['alt_text'])}\">$credit</figure>\n";
}
