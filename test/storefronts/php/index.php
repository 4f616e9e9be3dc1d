<?php
// An example storefront for PHP's own server: MIRROR=data/mirror.db ADMIN=unix:///…/admin.sock php -S 127.0.0.1:8000 index.php
require 'mirror.php';
require 'check.php';
require 'pages.php';

/** A date of this century, or null: what stands in an address is anybody's. */
function date_of(mixed $text): ?string
{
    return is_string($text) && preg_match('/^(20\d\d)-(\d\d)-(\d\d)$/D', $text, $part) && checkdate((int) $part[2], (int) $part[3], (int) $part[1]) ? $text : null;
}

function show_search(): void
{
    $ask = array_filter($_GET, fn ($value) => is_string($value) && $value !== '');
    $near = preg_match('/^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/', $ask['near'] ?? '', $part) && abs($part[1]) <= 90 && abs($part[2]) <= 180
        ? [(float) $part[1], (float) $part[2], max(0.1, is_numeric($ask['km'] ?? '') ? (float) $ask['km'] : 5.0)] : null;
    $most = preg_match('/^(\d{1,6})(?:[.,](\d\d?))?$/', $ask['most'] ?? '', $part) ? (int) $part[1] * 100 + (int) str_pad($part[2] ?? '', 2, '0') : null;
    $date = date_of($ask['date'] ?? null);
    together(fn () => search_page($ask, search(words($ask['text'] ?? ''), $near, $date, $most)));
}

function show_product(int $id): void
{
    $product = product($id);
    if ($product === null || policy('products', $product['freshness']) === 'hide') {
        $gone = rows('SELECT title FROM withdrawn_products WHERE product_id = :id', ['id' => $id]);
        page('Not found', '<h1>' . ($gone ? e($gone[0]['title']) . '</h1><p>This is no longer offered.' : 'There is no such product') . '</h1>', $gone ? 410 : 404);
        return;
    }
    $today = (new DateTimeImmutable('now', new DateTimeZone($product['timezone'] ?? 'UTC')))->format('Y-m-d');
    $date = date_of($_GET['date'] ?? null);
    $month = substr($date ?? date_of(($_GET['month'] ?? '') . '-01') ?? $today, 0, 7);
    $images = rows('SELECT large_url, alt_text, credit FROM images WHERE product_id = :id ORDER BY position', ['id' => $id]);
    $info = rows('SELECT must_know FROM checkout_information WHERE product_id = :id AND language = :language', ['id' => $id])[0] ?? null;
    $table = calendar_table($id, $month, $today, $date, calendar($id, "$month-01", "$month-31"));
    $slots = $date === null || !$product['sellable'] ? '' : slots_table($id, $date, slots($id, $date));
    product_page($product, $images, $info, $table, $slots, instead_list(array_map(fn (array $p) => [$p['product_id'], null, $p['title'], null], recommended($id))));
}

/** What a form asks to buy; null: it is no wish of ours. */
function wish(): ?array
{
    $wish = filter_input_array(INPUT_POST, ['product' => FILTER_VALIDATE_INT, 'variant' => FILTER_VALIDATE_INT, 'price' => FILTER_VALIDATE_INT,
        'count' => ['filter' => FILTER_VALIDATE_INT, 'options' => ['min_range' => 1, 'max_range' => 99]]]) ?: [];
    $text = ['date' => date_of($_POST['date'] ?? null), 'time' => is_string($_POST['time'] ?? null) ? $_POST['time'] : null];
    return in_array(null, $wish + $text, true) || in_array(false, $wish, true) ? null : $wish + $text;
}

/** An alternative of the check: another time or date, or another product. */
function alternative(array $other): array
{
    $title = $other['kind'] === 'product' ? product($other['product_id'])['title'] ?? '' : '';
    return [$other['product_id'], $other['date'], trim("$title {$other['date']} {$other['time']}"), $other['price']['amount'] ?? null];
}

/** The last check before the money: what does not hold is not ordered. */
function buy(string $step): void
{
    $wish = wish();
    if ($wish === null) {
        page('Checkout', '<h1>That is no order</h1>', 400);
        return;
    }
    $answer = check($wish);
    if ($step === '/order' && $answer['verdict'] === 'holds') {
        // Here a real shop makes its order with the service; only when that is confirmed does it say so.
        report($wish);
        page('Thank you', '<h1>Thank you</h1><p class="notice good" data-verdict="ordered">Your order is confirmed.</p>');
        return;
    }
    together(fn () => verdict_page($wish, $answer, instead_list(array_map('alternative', $answer['alternatives']))));
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/shop.css') {
    header('Content-Type: text/css');
    readfile(__DIR__ . '/../shop.css');
} elseif ($_SERVER['REQUEST_METHOD'] === 'POST' && in_array($path, ['/checkout', '/order'], true)) {
    buy($path);
} elseif (preg_match('~^/product/(\d{1,15})$~', $path, $part)) {
    together(fn () => show_product((int) $part[1]));
} elseif ($path === '/') {
    show_search();
} else {
    page('Not found', '<h1>There is no such page</h1>', 404);
}
