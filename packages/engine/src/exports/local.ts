/** What only a client needs: folders as sources, the file cache, the SQLite catalog, restore into a folder. */

export { FileCache } from "../cache/file-cache.ts";
export { openSqliteCatalog, SqliteCatalog } from "../catalog/sqlite/sqlite.ts";
export type { RestoreFailure, RestoreOptions, RestoreResult } from "../restore/folder/restore.ts";
export { restoreSnapshot } from "../restore/folder/restore.ts";
export { folderSource, pathsSource } from "../source/folder-source.ts";
