/**
 * The schema `emanet` as the database itself describes it. One query of the *system catalog* reads everything that a migration can
 * change; from its answer come the committed `schema.txt`, which shows a migration's whole effect in review, and the
 * row types (rows.ts). Both are the same on every supported PostgreSQL, whatever the owner of the schema is called.
 */

import type pg from "pg";
import { schemaName } from "./pool.ts";

export interface Schema {
  readonly roles: readonly { readonly name: string; readonly attributes: readonly string[] }[];
  readonly grants: readonly Grant[];
  readonly relations: readonly Relation[];
  readonly enums: readonly { readonly name: string; readonly labels: readonly string[] }[];
  readonly functions: readonly { readonly definition: string; readonly grants: readonly Grant[] }[];
}

export interface Relation {
  readonly name: string;
  readonly kind: "table" | "view" | "materialized view" | "sequence";
  readonly options: readonly string[];
  readonly definition: string | null;
  readonly rowSecurity: boolean;
  readonly rowSecurityForced: boolean;
  readonly columns: readonly Column[];
  readonly constraints: readonly { readonly name: string; readonly definition: string }[];
  readonly indexes: readonly string[];
  readonly policies: readonly Policy[];
  readonly triggers: readonly { readonly definition: string; readonly enabled: string }[];
  readonly grants: readonly Grant[];
}

export interface Column {
  readonly name: string;
  /** As SQL writes it, e.g. `character varying(20)[]`. */
  readonly type: string;
  /** The name of the type in the system catalog, or of an array's elements; a domain's base type. */
  readonly baseType: string;
  readonly array: boolean;
  readonly nullable: boolean;
  readonly default: string | null;
  readonly generated: "no" | "stored" | "virtual" | "identity always" | "identity by default";
}

export interface Policy {
  readonly name: string;
  readonly permissive: boolean;
  readonly command: string;
  readonly roles: readonly string[];
  readonly using: string | null;
  readonly check: string | null;
}

/** What a role other than the owner may do; `columns` is null where it holds for all of them. */
export interface Grant {
  readonly grantee: string;
  readonly columns: string | null;
  readonly privileges: readonly string[];
}

/** Reads the schema from the system catalog. Needs no more rights than any user of the database has. */
export async function readSchema(pool: pg.Pool): Promise<Schema> {
  const client = await pool.connect();
  try {
    await client.query("begin read only");
    // PostgreSQL leaves out the schema of names on the search path: it must not depend on who asks.
    await client.query("set local search_path = pg_catalog");
    const { rows } = await client.query<{ schema: Schema }>(systemCatalogQuery, [schemaName]);
    await client.query("rollback");
    const schema = rows[0]?.schema;
    if (schema === undefined) throw new Error(`there is no schema ${schemaName}; migrate first`);
    return schema;
  } finally {
    client.release();
  }
}

/** The text of `schema.txt`: one line per fact, in an order that depends on names only. */
export function schemaText(schema: Schema): string {
  const blocks = [
    ["# The schema as the migrations leave it. Made by `npm run generate`; do not edit."],
    ...schema.roles.map((role) => [`role ${role.name}: ${role.attributes.join(", ")}`]),
    [`schema ${schemaName}`, ...grantLines(schema.grants)],
    ...schema.enums.map((type) => [`enum ${type.name}: ${type.labels.join(", ")}`]),
    ...schema.relations.map(relationLines),
    ...schema.functions.map(({ definition, grants }) => [definition.trimEnd(), ...grantLines(grants)]),
  ];
  return `${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function relationLines(relation: Relation): string[] {
  const security = `${relation.rowSecurity ? "enabled" : "off"}, ${relation.rowSecurityForced ? "forced" : "not forced"}`;
  return [
    `${relation.kind} ${relation.name}`,
    ...(relation.kind === "table" ? [`  row-level security ${security}`] : []),
    ...relation.options.map((option) => `  with ${option}`),
    ...relation.columns.map(columnLine),
    ...relation.constraints.map(({ name, definition }) => `  constraint ${name} ${definition}`),
    ...relation.indexes.map((definition) => `  ${definition}`),
    ...relation.policies.map(policyLine),
    ...relation.triggers.map(({ definition, enabled }) => `  ${definition}${enabled === "O" ? "" : ` (${enabled})`}`),
    ...grantLines(relation.grants),
    ...(relation.definition === null ? [] : [relation.definition.trimEnd()]),
  ];
}

function columnLine(column: Column): string {
  const words = [
    `  column ${column.name} ${column.type}`,
    column.nullable ? "" : "not null",
    column.generated === "no" ? "" : `generated ${column.generated}`,
    column.default === null ? "" : `default ${column.default}`,
  ];
  return words.filter(Boolean).join(" ");
}

function policyLine(policy: Policy): string {
  const words = [
    `  policy ${policy.name} ${policy.permissive ? "permissive" : "restrictive"} for ${policy.command}`,
    `to ${policy.roles.join(", ")}`,
    policy.using === null ? "" : `using (${policy.using})`,
    policy.check === null ? "" : `with check (${policy.check})`,
  ];
  return words.filter(Boolean).join(" ");
}

function grantLines(grants: readonly Grant[]): string[] {
  return grants.map(({ grantee, columns, privileges }) => {
    const what = privileges.map((privilege) => privilege.toLowerCase()).join(", ");
    return `  grant ${what}${columns === null ? "" : ` (${columns})`} to ${grantee}`;
  });
}

/**
 * Left out, because it differs between versions or installations: the owner and the owner's own rights, the privilege
 * MAINTAIN (since 17), the names of not-null constraints (since 18), what extensions brought.
 */
const systemCatalogQuery = `
with
  ours as (select oid, nspacl, nspowner from pg_namespace where nspname = $1),
  acls (object, owner, columns, acl) as (
    select oid, nspowner, null, nspacl from ours
    union all
    select oid, relowner, null, relacl from pg_class where relnamespace in (select oid from ours)
    union all
    select attrelid, relowner, attname::text, attacl
      from pg_attribute join pg_class on pg_class.oid = attrelid
      where relnamespace in (select oid from ours) and not attisdropped
    union all
    select oid, proowner, null, coalesce(proacl, acldefault('f', proowner))
      from pg_proc where pronamespace in (select oid from ours)
  ),
  granted as (
    select object, columns, privilege_type,
        case when grantee = 0 then 'public' else pg_get_userbyid(grantee)::text end as grantee
      from acls, aclexplode(acl)
      where grantee <> owner and privilege_type <> 'MAINTAIN'
  ),
  grants as (
    select object, jsonb_agg(jsonb_build_object('grantee', grantee, 'columns', columns, 'privileges', privileges)
        order by grantee collate "C", columns collate "C" nulls first) as list
      from (
        select object, grantee, columns, jsonb_agg(privilege_type order by privilege_type collate "C") as privileges
          from granted group by object, grantee, columns
      ) as by_grantee
      group by object
  ),
  columns as (
    select attrelid, jsonb_agg(jsonb_build_object(
        'name', attname,
        'type', format_type(atttypid, atttypmod),
        'baseType', coalesce(element.typname, base.typname, own.typname),
        'array', element.oid is not null,
        'nullable', not attnotnull,
        'default', pg_get_expr(adbin, adrelid),
        'generated', case when attidentity = 'a' then 'identity always' when attidentity = 'd' then 'identity by default'
          when attgenerated = 's' then 'stored' when attgenerated = 'v' then 'virtual' else 'no' end
      ) order by attnum) as list
      from pg_attribute
      join pg_type own on own.oid = atttypid
      left join pg_type base on base.oid = own.typbasetype and own.typtype = 'd'
      left join pg_type element on element.oid = coalesce(base.typelem, own.typelem)
        and coalesce(base.typcategory, own.typcategory) = 'A'
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attnum > 0 and not attisdropped
      group by attrelid
  ),
  constraints as (
    select conrelid, jsonb_agg(jsonb_build_object('name', conname, 'definition', pg_get_constraintdef(oid))
        order by conname collate "C") as list
      from pg_constraint where contype in ('c', 'f', 'p', 'u', 'x') group by conrelid
  ),
  indexes as (
    select indrelid, jsonb_agg(pg_get_indexdef(indexrelid) order by relname collate "C") as list
      from pg_index join pg_class on pg_class.oid = indexrelid
      where not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
      group by indrelid
  ),
  policies as (
    select polrelid, jsonb_agg(jsonb_build_object(
        'name', polname,
        'permissive', polpermissive,
        'command', case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'
          when 'd' then 'delete' else 'all' end,
        'roles', (select jsonb_agg(name order by name collate "C") from (
          select case when role = 0 then 'public' else pg_get_userbyid(role)::text end as name
            from unnest(polroles) as role) as named),
        'using', pg_get_expr(polqual, polrelid),
        'check', pg_get_expr(polwithcheck, polrelid)
      ) order by polname collate "C") as list
      from pg_policy group by polrelid
  ),
  triggers as (
    select tgrelid, jsonb_agg(jsonb_build_object('definition', pg_get_triggerdef(oid), 'enabled', tgenabled)
        order by tgname collate "C") as list
      from pg_trigger where not tgisinternal group by tgrelid
  ),
  foreign_objects as (select objid from pg_depend where deptype in ('e', 'i') and classid = 'pg_class'::regclass
    union select objid from pg_depend where deptype = 'e'),
  relations as (
    select jsonb_agg(jsonb_build_object(
        'name', relname,
        'kind', case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
          else 'table' end,
        'options', coalesce(to_jsonb(reloptions), '[]'),
        'definition', case when relkind in ('v', 'm') then pg_get_viewdef(pg_class.oid) end,
        'rowSecurity', relrowsecurity,
        'rowSecurityForced', relforcerowsecurity,
        'columns', case when relkind = 'S' then '[]' else coalesce(columns.list, '[]') end,
        'constraints', coalesce(constraints.list, '[]'),
        'indexes', coalesce(indexes.list, '[]'),
        'policies', coalesce(policies.list, '[]'),
        'triggers', coalesce(triggers.list, '[]'),
        'grants', coalesce(grants.list, '[]')
      ) order by relname collate "C") as list
      from pg_class
      left join columns on attrelid = pg_class.oid
      left join constraints on conrelid = pg_class.oid
      left join indexes on indrelid = pg_class.oid
      left join policies on polrelid = pg_class.oid
      left join triggers on tgrelid = pg_class.oid
      left join grants on grants.object = pg_class.oid
      where relnamespace in (select oid from ours) and relkind in ('r', 'p', 'v', 'm', 'S')
        and pg_class.oid not in (select objid from foreign_objects)
  ),
  enums as (
    select jsonb_agg(jsonb_build_object('name', typname, 'labels', (
        select jsonb_agg(enumlabel order by enumsortorder) from pg_enum where enumtypid = pg_type.oid
      )) order by typname collate "C") as list
      from pg_type where typtype = 'e' and typnamespace in (select oid from ours)
  ),
  functions as (
    select jsonb_agg(jsonb_build_object('definition', pg_get_functiondef(pg_proc.oid), 'grants', coalesce(list, '[]'))
        order by proname collate "C", pg_get_function_identity_arguments(pg_proc.oid) collate "C") as list
      from pg_proc left join grants on object = pg_proc.oid
      where pronamespace in (select oid from ours) and prokind in ('f', 'p')
        and pg_proc.oid not in (select objid from foreign_objects)
  ),
  roles as (
    select jsonb_agg(jsonb_build_object('name', rolname, 'attributes', jsonb_build_array(
        case when rolcanlogin then 'login' else 'nologin' end,
        case when rolsuper then 'superuser' else 'nosuperuser' end,
        case when rolbypassrls then 'bypassrls' else 'nobypassrls' end,
        case when rolcreaterole then 'createrole' else 'nocreaterole' end,
        case when rolcreatedb then 'createdb' else 'nocreatedb' end
      )) order by rolname collate "C") as list
      from pg_roles where rolname like $1 || '\\_%'
  )
select jsonb_build_object(
    'roles', coalesce((select list from roles), '[]'),
    'grants', coalesce((select list from grants where object = ours.oid), '[]'),
    'relations', coalesce((select list from relations), '[]'),
    'enums', coalesce((select list from enums), '[]'),
    'functions', coalesce((select list from functions), '[]')
  ) as schema
  from ours`;
