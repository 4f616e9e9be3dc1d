<?php
// Reading what visitors send. Each reader has a value, or null where it does not understand.

/** A date of this century: what stands in an address is anybody's. */
function date_of(string $text): ?string
{
    return preg_match('/^(20\d\d)-(\d\d)-(\d\d)$/D', $text, $part) && checkdate((int) $part[2], (int) $part[3], (int) $part[1]) ? $text : null;
}

function time_of(string $text): ?string
{
    return preg_match('/^(?:(?:[01]\d|2[0-3]):[0-5]\d|[a-z][a-z_ -]{0,19})$/Di', $text) ? $text : null;
}

function number_of(string $text, int $least, int $most = 10 ** 15): ?int
{
    return preg_match('/^\d{1,15}$/D', $text) && $text >= $least && $text <= $most ? (int) $text : null;
}

/** An amount in minor units. */
function minor_of(string $text): ?int
{
    $read = preg_match('/^(\d{1,6})(?:[.,](\d{1,' . max(1, decimals()) . '}))?$/D', $text, $part);
    return $read ? (int) ($part[1] . substr(str_pad($part[2] ?? '', decimals(), '0'), 0, decimals())) : null;
}

/** Latitude and longitude. */
function place_of(string $text): ?array
{
    $found = preg_match('/^\s*(-?\d{1,3}(?:\.\d+)?)\s*,\s*(-?\d{1,3}(?:\.\d+)?)\s*$/D', $text, $part);
    return $found && abs((float) $part[1]) <= 90 && abs((float) $part[2]) <= 180 ? [(float) $part[1], (float) $part[2]] : null;
}

function km_of(string $text): ?float
{
    return preg_match('/^\d{1,5}(?:\.\d+)?$/D', $text) && (float) $text > 0 ? (float) $text : null;
}

/** What people type is words, never syntax. */
function words_of(string $text): ?string
{
    return preg_match('/[\p{L}\p{N}]/u', $text) ? preg_replace('/^(.{200}).*$/us', '$1', $text) : null;
}

/** What makes an order count once, however often its form is sent. */
function order_of(mixed $text): string
{
    return is_string($text) && preg_match('/^[0-9a-f]{32}$/D', $text) ? $text : bin2hex(random_bytes(16));
}

/** What a search form says, without the fields that were left empty. */
function asked(array $query): array
{
    return array_filter($query, fn (mixed $text) => is_string($text) && trim($text) !== '');
}

/** The filters of a search; null: not asked for, or not understood. */
function filters(array $ask): array
{
    $readers = ['text' => 'words_of', 'near' => 'place_of', 'km' => 'km_of', 'date' => 'date_of', 'most' => 'minor_of'];
    $read = fn (string $name, callable $reader) => isset($ask[$name]) ? $reader($ask[$name]) : null;
    return array_combine(array_keys($readers), array_map($read, array_keys($readers), $readers));
}

/** What a form asks to buy; null: it is no form of ours. */
function wish(array $form): ?array
{
    $of = fn (string $name): string => is_string($form[$name] ?? null) ? $form[$name] : '';
    $wish = [
        'product' => number_of($of('product'), 1), 'variant' => number_of($of('variant'), 1),
        'price' => number_of($of('price'), 0, 10 ** 9), 'count' => number_of($of('count'), 1, 99),
        'date' => date_of($of('date')), 'time' => time_of($of('time')),
    ];
    return in_array(null, $wish, true) ? null : $wish;
}
