-- Applications to become a customer. They belong to no account: only the platform scope sees them.
-- A duplicate e-mail is stored like any other, so that neither the answer nor its time tells it apart;
-- duplicate_of shows staff the earlier one.

create table emanet.applications (
  id uuid primary key,
  status text not null check (status in ('submitted', 'under_review', 'approved', 'rejected', 'withdrawn')),
  kind text not null check (kind in ('accounting_office', 'company')),
  full_name text not null,
  email text not null,
  -- The e-mail folded for comparison.
  email_key text not null,
  phone text not null,
  company_name text not null,
  tax_id text not null,
  package text not null check (package in ('starter', 'professional', 'accountant', 'corporate')),
  note text,
  consents jsonb not null,
  language text not null check (language in ('tr', 'en')),
  duplicate_of uuid references emanet.applications (id),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1
);

create index applications_email_key on emanet.applications (email_key, created_at);

alter table emanet.applications enable row level security;
alter table emanet.applications force row level security;
create policy tenancy on emanet.applications using (emanet.in_scope(null));

grant select, insert, update on emanet.applications to emanet_app;
