-- Oldest safe version: 0.1.0
-- How far the orders of the inbox were counted: a number, written in the transaction of the counts. No order stands here.
ALTER TABLE mirror ADD COLUMN last_order_number INTEGER NOT NULL DEFAULT 0;
