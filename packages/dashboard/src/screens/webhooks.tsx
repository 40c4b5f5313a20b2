/** Webhooks: whether each works; adding one shows its secret once. */

import type { Webhook, WebhookCreated } from "@emanet/client/source";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Webhook as WebhookIcon } from "lucide-react";
import { type FormEvent, useState } from "react";
import { client, queries } from "../api/client.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { webhooksQuery } from "../api/queries.ts";
import { rolesWith, useRights } from "../api/rights.ts";
import { perform } from "../api/step-up.ts";
import { actMessage, DialogButtons, SecretDialog } from "../parts/act-dialogs.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FormError } from "../parts/field.tsx";
import { Glyph } from "../parts/glyph.tsx";
import { ShownName } from "../parts/shown-name.tsx";
import { Empty, NoPermission, QueryView } from "../parts/states.tsx";
import { TextField } from "../parts/text-field.tsx";
import { Screen } from "../shell/screen.tsx";
import { t } from "../strings/index.ts";

export function Webhooks() {
  const { may, whyNot } = useRights();
  const webhooks = useQuery({ ...webhooksQuery, enabled: may("webhooks:read") });
  const [isAdding, setAdding] = useState(false);
  const add = (
    <Button
      look="primary"
      icon={<Plus size={16} aria-hidden="true" />}
      unavailable={whyNot("webhooks:write")}
      onClick={() => setAdding(true)}
    >
      {t.webhooks.add}
    </Button>
  );
  return (
    <Screen title={t.webhooks.title} actions={add}>
      {may("webhooks:read") ? (
        <QueryView query={webhooks} lines={4}>
          {(list) =>
            list.length === 0 ? (
              <Empty
                icon={<WebhookIcon size={28} aria-hidden="true" />}
                title={t.webhooks.empty}
                detail={t.webhooks.emptyDetail}
              />
            ) : (
              <ul className="card rows">
                {list.map((webhook) => (
                  <Item key={webhook.id} webhook={webhook} />
                ))}
              </ul>
            )
          }
        </QueryView>
      ) : (
        <NoPermission roles={rolesWith("webhooks:read")} />
      )}
      {isAdding && <AddWebhook onClose={() => setAdding(false)} />}
    </Screen>
  );
}

/** What a person calls it: its description, or the host. */
export function nameOf({ description, url }: Webhook): string {
  return description ?? new URL(url).host;
}

function Item({ webhook }: { readonly webhook: Webhook }) {
  const isOn = webhook.status === "enabled";
  return (
    <li className="row">
      <Glyph status={isOn ? "ok" : webhook.disabled_reason === "requested" ? "none" : "failed"} />
      <div>
        <Link to="/app/webhooks/$id" params={{ id: webhook.id }} className="row-link">
          <strong>
            <ShownName name={nameOf(webhook)} />
          </strong>
        </Link>
        <code>{webhook.url}</code>
      </div>
      <span className="row-note">{isOn ? t.webhooks.on : t.webhooks.off}</span>
    </li>
  );
}

function AddWebhook({ onClose }: { readonly onClose: () => void }) {
  const [url, setUrl] = useState("");
  const [description, setDescription] = useState("");
  const work = useMutation({
    mutationFn: (): Promise<WebhookCreated> => {
      const body = { url, events: ["*" as const], ...(description !== "" && { description }) };
      return perform((options) => client.webhooks.create({ body }, options));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ["webhooks"] }),
  });
  const errors = fieldErrors(work.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    work.mutate();
  };
  if (work.data !== undefined) {
    const { secret, secretDetail } = t.webhooks;
    return <SecretDialog title={secret} detail={secretDetail} secret={work.data.secret} onClose={onClose} />;
  }
  return (
    <Dialog title={t.webhooks.add} className="dialog-narrow" onClose={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <FormError text={errors.size === 0 ? actMessage(work.error) : null} />
        <TextField
          label={t.webhooks.url}
          hint={t.webhooks.urlHint}
          error={errors.get("/url")}
          type="url"
          required
          maxLength={2000}
          value={url}
          onText={setUrl}
        />
        <TextField
          label={t.webhooks.description}
          hint={t.webhooks.allEvents}
          error={errors.get("/description")}
          maxLength={100}
          value={description}
          onText={setDescription}
        />
        <DialogButtons onCancel={onClose} submit={t.webhooks.add} busy={work.isPending} />
      </form>
    </Dialog>
  );
}
