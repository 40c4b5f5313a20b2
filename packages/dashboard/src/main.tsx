/** Starts the application: texts of the language, then the page. */

import "./styles/index.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./api/client.ts";
import { router } from "./routes.tsx";
import { loadStrings } from "./strings/index.ts";

await loadStrings();
const place = document.getElementById("app");
if (place === null) throw new Error("the page has no place for the application");
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
