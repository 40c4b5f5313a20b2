-- The key of an upload is claimed before its body is read. Until the claim is replaced by an answer, `expires_at` is the end of its lease.
alter table emanet.idempotency_keys
  alter column fingerprint drop not null,
  alter column sealed_reply drop not null,
  add column claim uuid,
  add constraint idempotency_keys_claimed_or_answered check (
    (claim is null) = (fingerprint is not null) and (claim is null) = (sealed_reply is not null)
  );
