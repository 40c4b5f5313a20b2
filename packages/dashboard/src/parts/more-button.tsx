/** The rest of a list that comes page by page. */

import { t } from "../strings/index.ts";
import { Button } from "./button.tsx";

interface Paged {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

export function MoreButton({ query }: { readonly query: Paged }) {
  if (!query.hasNextPage) return null;
  return (
    <p className="more">
      <Button busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
        {t.more}
      </Button>
    </p>
  );
}
