/** `GET /app/…`: the web application at one of its own addresses. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { explaining } from "../../pages/index.ts";
import { dashboardPage, pageOperation } from "../page-reply.ts";

const served = endpoint(
  {
    ...pageOperation,
    id: "dashboard.screen",
    path: "/app/{path+}",
    summary: "A screen of the dashboard",
    description: "The same page as `/`. The application reads the address and shows the screen.",
  },
  async () => dashboardPage(),
);

export const getScreen: Endpoint = { ...served, explain: explaining() };
