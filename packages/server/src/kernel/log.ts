/**
 * The structured log. Its nouns: an *event* is a fixed snake_case word chosen in the code, a *field* is one of the
 * names below and nothing else. Personal data cannot reach a line because there is no field to carry it: no message
 * text, no URL, no error message, no body. Lines go to standard error; standard output is for the operator's own
 * lines (`ready …`).
 */

/** Everything a log line may carry. A new field is a decision about personal data: say why it cannot hold any. */
export interface LogFields {
  readonly request_id?: string;
  readonly operation?: string;
  readonly method?: string;
  readonly status?: number;
  readonly duration_ms?: number;
  readonly error_code?: string;
}

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}
