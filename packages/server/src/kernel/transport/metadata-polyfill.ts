/**
 * The three functions of the withdrawn Reflect metadata proposal that `@peculiar/x509` needs: its dependency container
 * refuses to load without them. To be imported before that package, for its effect only.
 *
 * Metadata belongs to the object it was defined on; reading looks along the prototype chain unless "own" is asked for.
 */

type Metadata = Map<unknown, unknown>;

interface MetadataReflect {
  defineMetadata?: (key: unknown, value: unknown, target: object) => void;
  getOwnMetadata?: (key: unknown, target: object) => unknown;
  getMetadata?: (key: unknown, target: object) => unknown;
}

installMetadata(Reflect as MetadataReflect);

function installMetadata(reflect: MetadataReflect): void {
  // An implementation that was loaded before stays.
  if (reflect.getMetadata !== undefined) return;
  const kept = new WeakMap<object, Metadata>();
  reflect.defineMetadata = (key, value, target) => {
    const metadata = kept.get(target) ?? new Map();
    kept.set(target, metadata.set(key, value));
  };
  reflect.getOwnMetadata = (key, target) => kept.get(target)?.get(key);
  reflect.getMetadata = (key, target) => {
    let owner: object | null = target;
    while (owner !== null) {
      const metadata = kept.get(owner);
      if (metadata?.has(key)) return metadata.get(key);
      owner = Reflect.getPrototypeOf(owner);
    }
    return undefined;
  };
}
