-- What an upload holds and reaches is known to be its owner's when it is acquired, registered or committed. A commit in the
-- scope `lineage` then compares sets, and no items.

alter table emanet.catalog_held
  -- All are items of the upload's owner. False: not known.
  add column is_own boolean not null default false;

alter table emanet.catalog_snapshots
  -- The owner of every item that it reaches; null: not known.
  add column owner integer;

alter table emanet.catalog_uploads
  -- Every item of its base is of its owner. False: not known.
  add column is_own_base boolean not null default false;

-- Items have the numbers of owners, and are read with their names.
create unique index catalog_owners_number on emanet.catalog_owners (vault, owner);

-- The hooks of an item that is deleted go with it.
create index catalog_hooks_ordinal on emanet.catalog_hooks (vault, ordinal);

-- Items are also found by their ids alone. The sum is no condition of an index: no plan finds the vault's items first and
-- then looks for an id among them. Statements that want the vault's items by their ordinals name the vault themselves.
alter policy vault on emanet.catalog_items using (vault + 0 = (select emanet.current_vault()));
