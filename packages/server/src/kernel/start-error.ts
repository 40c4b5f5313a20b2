/**
 * What keeps the service from starting and only its operator can put right: a folder in use, a database of the wrong
 * version, a migration that was edited. The message is written for that operator and says what to do; `main.ts`
 * prints it without a stack and ends with status 1. Anything else that throws during a start is a defect of ours.
 */

export type StartErrorCode =
  | "folder_in_use"
  | "folder_newer"
  | "folder_other_profile"
  | "folder_unusable"
  | "postgres_busy"
  | "postgres_failed"
  | "postgres_missing"
  | "postgres_version"
  | "address_in_use"
  | "address_unusable"
  | "master_key_wrong"
  | "setting_unusable"
  | "staff_exists"
  | "storage_of_another_service"
  | "storage_unusable"
  | "database_newer"
  | "database_outdated"
  | "database_older_than_store"
  | "database_empty"
  | "database_rights"
  | "database_unreachable"
  | "database_version"
  | "migration_changed"
  | "migration_failed"
  | "migration_files"
  | "migration_locked";

export class StartError extends Error {
  readonly code: StartErrorCode;

  constructor(code: StartErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartError";
    this.code = code;
  }
}
