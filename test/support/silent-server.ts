/** A server that takes connections and never answers. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** Listens on the loopback interface; `connected` is its first connection. It ends when it is disposed of. */
export async function silentServer() {
  let accept: (socket: Socket) => void = () => undefined;
  const connected = new Promise<Socket>((resolve) => {
    accept = resolve;
  });
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.resume();
    accept(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** Of a git repository. */
    url: `https://127.0.0.1:${String((server.address() as AddressInfo).port)}/x.git`,
    connected,
    connections: () => sockets.length,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
