<?php
// Asks statements of a mirror, as a storefront in PHP does: processor milliseconds of each, and the products found.
function processorMs(): float {
    $used = getrusage();
    return 1000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1000;
}
$given = json_decode(stream_get_contents(STDIN), true);
$db = new SQLite3($given['mirror'], SQLITE3_OPEN_READONLY);
$answers = [];
foreach ($given['asks'] as ['sql' => $sql, 'bound' => $bound]) {
    $times = [];
    for ($round = 0; $round < $given['rounds']; $round++) {
        $started = processorMs();
        $statement = $db->prepare($sql);
        foreach ($bound as $name => $value) $statement->bindValue(":$name", $value);
        $found = $statement->execute();
        for ($ids = []; $row = $found->fetchArray(SQLITE3_NUM);) $ids[] = $row[0];
        $times[] = processorMs() - $started;
    }
    $answers[] = ['ms' => $times, 'ids' => array_slice($ids, 0, 3)];
}
echo json_encode($answers);
