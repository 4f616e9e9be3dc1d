<?php
// Reads a mirror as hard as it can and judges every answer; what it is asked and what it prints: start-readers.ts.
$job = json_decode(file_get_contents($argv[1]), true);
$db = new SQLite3($job['path'], SQLITE3_OPEN_READONLY);
$db->enableExceptions(true);
$db->busyTimeout(2000);
$statements = array_map(fn (string $sql) => $db->prepare($sql), $job['sql']);
$schedule = fopen('/proc/self/schedstat', 'r');

function rows(SQLite3Stmt $statement, array $values): array
{
    $statement->reset();
    foreach ($values as $index => $value) {
        $statement->bindValue($index + 1, $value);
    }
    $rows = [];
    for ($found = $statement->execute(); $row = $found->fetchArray(SQLITE3_NUM);) {
        $rows[] = $row;
    }
    return $rows;
}

/** What is wrong with the calendar, if anything; its state number. */
function judgeCalendar(array $days, int $count): array
{
    $state = null;
    foreach ($days as [, , $price, $tickets, $availability]) {
        foreach ([$price, $tickets, $availability] as $number) {
            if ($number !== null && $number !== ($state ??= $number)) {
                return ["two states in one calendar: $state and $number", $state];
            }
        }
    }
    foreach ($days as [$day, $sale]) {
        if (($sale === 'sold_out') !== (($day + $state) % 5 === 0)) {
            return ["day $day is $sale in state $state", $state];
        }
    }
    return [count($days) === $count ? null : count($days) . " of $count days", $state];
}

function judgeSlots(array $slots, ?int $state): ?string
{
    foreach ($slots as $slot) {
        foreach ($slot as $number) {
            if ($number !== ($state ??= $number)) {
                return "two states in one read of slots: $state and $number";
            }
        }
    }
    return null;
}

/** One read: null, or what is inconsistent in it. */
function read(SQLite3 $db, array $sql, array $job, int $turn): ?string
{
    [$product, $from, $to, $count] = $job['questions'][intdiv($turn, 8) % count($job['questions'])];
    switch ($job['turns'][$turn % count($job['turns'])]) {
        case 'product':
            [[$title, $price]] = rows($sql['product'], [$product]) ?: [[null, null]];
            return $title === "State $price" ? null : "title $title, price $price";
        case 'slots':
            return judgeSlots(rows($sql['slots'], [$product, $from, $from]), null);
        case 'calendar':
            return judgeCalendar(rows($sql['calendar'], [$product, $from, $to]), $count)[0];
        default:
            $db->exec($job['begin']);
            [$wrong, $state] = judgeCalendar(rows($sql['calendar'], [$product, $from, $to]), $count);
            $slots = rows($sql['slots'], [$product, $from, $job['few'][$from]]);
            $db->exec($job['commit']);
            return $wrong ?? judgeSlots($slots, $state);
    }
}

/** Nanoseconds that this thread ran or wanted to run: the rest of a read's time it slept. */
function busyTime($schedule): int
{
    rewind($schedule);
    [$ran, $waited] = explode(' ', fread($schedule, 100));
    return $ran + $waited;
}

[$turn, $retries, $inconsistent, $blocked, $errors, $first, $times] = [0, 0, 0, 0, [], null, []];
for ($stop = false; !$stop;) {
    $busy = busyTime($schedule);
    $start = hrtime(true);
    try {
        try {
            $wrong = read($db, $statements, $job, $turn);
        } catch (Exception) {
            $retries += 1;
            @$db->exec($job['again']);
            $wrong = read($db, $statements, $job, $turn);
        }
        $inconsistent += $wrong === null ? 0 : 1;
        $first ??= $wrong;
    } catch (Exception $error) {
        $errors[] = $error->getMessage();
    }
    $end = hrtime(true);
    $times[] = ($end - $start) / 1000;
    $turn += 1;
    if ($end - $start > 1e6) {
        $blocked = max($blocked, $end - $start - (busyTime($schedule) - $busy));
    }
    if ($turn % 256 === 0) {
        echo "$turn\n";
        clearstatcache();
        $stop = file_exists($job['stop']);
    }
}
$errors = array_slice($errors, 0, 5);
echo json_encode(['reads' => $turn, 'inconsistent' => $inconsistent, 'first' => $first, 'retries' => $retries,
    'errors' => $errors, 'blocked_ms' => $blocked / 1e6, 'times_us' => $times]), "\n";
