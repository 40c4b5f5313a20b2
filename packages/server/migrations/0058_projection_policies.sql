-- Whether a row is of the account is looked up in a hash, once per row. As a list of all its vaults it was a condition of every index
-- scan: in an office of 300 vaults it took longer than the lookup itself.
do $$
declare
  name text;
begin
  foreach name in array array['projected_paths', 'projected_versions', 'projected_grams']
  loop
    execute format('alter policy tenancy on emanet.%I using (vault in (select unnest(emanet.account_projections())))', name);
  end loop;
end
$$;
