/**
 * The names that the kernel and the domains define together: error codes, policies, OAuth scopes and member roles. The
 * kernel works with all of them and names only its own. `declarations.ts` collects the tables and adds their types to
 * {@link DeclaredNames} by declaration merging. So a misspelt name is a type error everywhere, and the kernel imports no
 * domain (decision 0022).
 */

// biome-ignore lint/suspicious/noEmptyInterface: `declarations.ts` adds the members by declaration merging
export interface DeclaredNames {}
