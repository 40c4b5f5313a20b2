/**
 * What runs in the page: the time from an input to the paint of what it brings. `arm` is told what must be there; the next input of that kind begins
 * the count. Before every frame the page is asked whether it is there, and the count ends after that frame is painted.
 */

export const pageTrace = `(() => {
  performance.setResourceTimingBufferSize(100_000);
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: "longtask", buffered: true });
  const painted = (done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => done(performance.now());
    port2.postMessage(null);
  };
  const untilPainted = (isShown, done) => {
    const frame = () => (isShown() ? painted(done) : requestAnimationFrame(frame));
    requestAnimationFrame(frame);
  };
  let armed = null;
  for (const kind of ["click", "keydown", "pointermove"]) {
    addEventListener(kind, (event) => {
      if (armed !== null && armed.kind === kind) armed.start ??= event.timeStamp;
    }, { capture: true });
  }
  const about = (start, end) => {
    const requests = performance.getEntriesByType("resource").filter((entry) => entry.responseEnd > start && entry.startTime < end);
    const longest = tasks.filter((task) => task.startTime + task.duration > start && task.startTime < end);
    return {
      ms: end - start,
      requests: requests.map(({ name, startTime, responseEnd }) => ({
        path: name.replace(location.origin, ""), from: startTime - start, to: responseEnd - start,
      })),
      longestTaskMs: Math.max(0, ...longest.map(({ duration }) => duration)),
    };
  };
  globalThis.benchTrace = {
    load: (isShown) => new Promise((resolve) => untilPainted(isShown, (end) => resolve(about(0, end)))),
    wait(isShown) {
      const start = performance.now();
      return new Promise((resolve) => untilPainted(isShown, (end) => resolve(about(start, end))));
    },
    arm(kind, isShown) {
      if (isShown()) throw new Error("what the input should bring is there before it");
      const own = { kind, start: null, result: null };
      armed = own;
      own.result = new Promise((resolve) => untilPainted(() => own.start !== null && isShown(), (end) => resolve(about(own.start, end))));
    },
    result: () => armed.result,
    /** Moves a list by so much in every frame, and looks after the paint of each frame whether a row is at every height. */
    scroll: (box, rowSelector, pixels, perFrame) => new Promise((resolve) => {
      const place = getComputedStyle(box()).overflowY === "auto" ? box() : document.scrollingElement;
      const blank = [];
      let [frames, longestFrameMs, moved, before] = [0, 0, 0, performance.now()];
      const frame = () => {
        const top = place.scrollTop;
        place.scrollTop = top + perFrame;
        moved += perFrame;
        painted((now) => {
          frames += 1;
          longestFrameMs = Math.max(longestFrameMs, now - before);
          before = now;
          const empty = emptyPlaces(box(), rowSelector);
          if (empty.length > 0) blank.push({ frame: frames, empty });
          if (moved < pixels) requestAnimationFrame(frame);
          else resolve({ frames, blank: blank.slice(0, 5), blankFrames: blank.length, longestFrameMs });
        });
      };
      requestAnimationFrame(frame);
    }),
  };
  /** Heights in the visible part of a list at which there is no row with text. */
  function emptyPlaces(box, rowSelector) {
    const area = box.getBoundingClientRect();
    const header = box.querySelector("thead")?.getBoundingClientRect();
    const top = Math.max(area.top, header === undefined ? 0 : Math.min(header.bottom, innerHeight), 0);
    const bottom = Math.min(area.bottom, innerHeight);
    const empty = [];
    for (let y = top + 12; y < bottom - 12; y += 16) {
      const under = document.elementsFromPoint(area.left + Math.min(area.width / 2, 300), y);
      // What lies over the list, as a bar at the foot of the page, hides rows and leaves none out.
      if (!under.some((one) => box.contains(one))) continue;
      const row = under.map((one) => one.closest(rowSelector)).find((one) => one !== null);
      if (row === undefined || row.textContent.trim() === "") empty.push(Math.round(y));
    }
    return empty;
  }
})()`;
