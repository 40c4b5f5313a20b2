-- An index that begins with the vault can be used to read all of a vault, and PostgreSQL does so where it believes that a vault has
-- few rows. These are for looking up single packs and ordinals, so the vault comes last.

drop index emanet.catalog_frames_pack;
create index catalog_frames_pack on emanet.catalog_frames (pack, vault);

drop index emanet.catalog_pins_pack;
create index catalog_pins_pack on emanet.catalog_pins (pack, vault);

drop index emanet.catalog_hooks_ordinal;
create index catalog_hooks_ordinal on emanet.catalog_hooks (ordinal, vault);

-- Chooses the vault of the transaction and returns its number. Fails if the account has no such vault.
--
-- Also fixes the plans of what follows: all of it are lookups by keys, and pages in the order of a key. A plan that was made while
-- the tables were small would read whole tables when they have grown, until they are analyzed. A bitmap has no order, so a page
-- would be sorted out of all rows that are left.
create or replace function emanet.use_vault(wanted uuid) returns integer
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      chosen integer := (
        select vault from emanet.catalogs
        where vault_id = wanted and account_id = nullif(current_setting('emanet.account_id', true), '')::uuid
      );
    begin
      if chosen is null then
        raise no_data_found using message = 'the account has no catalog of this vault';
      end if;
      perform set_config('emanet.vault', chosen || ' ' || current_setting('emanet.account_id'), true),
        set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
        set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true);
      return chosen;
    end
  $$;
