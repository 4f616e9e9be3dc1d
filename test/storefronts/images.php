<?php
// Prints the images of a product, each with its credit, as a page would: nothing that the service sent is markup.
[, $file, $product] = $argv;
$db = new PDO("sqlite:$file", options: [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY, PDO::ATTR_TIMEOUT => 2]);
$query = $db->prepare('SELECT large_url, alt_text, credit FROM images WHERE product_id = ? ORDER BY position');
$query->execute([$product]);
$e = fn (?string $text): string => htmlspecialchars($text ?? '', ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
foreach ($query as $image) {
    $credit = $image['credit'] === null ? '' : "<figcaption>{$e($image['credit'])}</figcaption>";
    echo "<figure><img src=\"{$e($image['large_url'])}\" alt=\"{$e($image['alt_text'])}\">$credit</figure>\n";
}
