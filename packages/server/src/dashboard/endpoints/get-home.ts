/** `GET /`: the web application. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { explaining } from "../../pages/index.ts";
import { dashboardPage, pageOperation } from "../page-reply.ts";

const served = endpoint(
  {
    ...pageOperation,
    id: "dashboard.home",
    path: "/",
    aliases: ["/app"],
    summary: "The dashboard",
    description: "The page of the web application. It shows the sign-in, or the overview.",
  },
  async () => dashboardPage(),
);

export const getHome: Endpoint = { ...served, explain: explaining() };
