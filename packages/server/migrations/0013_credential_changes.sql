-- When a password or second factor was last replaced: a sign-in that was proved with the old ones opens nothing.
alter table emanet.credentials add column changed_at timestamptz;
update emanet.credentials set changed_at = password_changed_at;
alter table emanet.credentials alter column changed_at set not null;

-- The member who was shown the secret: when they leave, the client is reviewed, whoever made it.
alter table emanet.oauth_client_secrets add column created_by uuid references emanet.people (id);
create index oauth_client_secrets_created_by on emanet.oauth_client_secrets (created_by) where created_by is not null;
