/** An address that the application does not have. */

import { Compass } from "lucide-react";
import { ButtonLink } from "../parts/button.tsx";
import { Empty } from "../parts/states.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";

export function NotFound() {
  return (
    <Screen title={t.states.notFound}>
      <Empty icon={<Compass size={28} aria-hidden="true" />} title={t.states.notFound} detail={t.states.notFoundDetail}>
        <ButtonLink to="/">{t.states.toOverview}</ButtonLink>
      </Empty>
    </Screen>
  );
}
